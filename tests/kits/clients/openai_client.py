"""CASE BASE_URL MODEL: one call of openai for Python; prints what it saw as JSON."""
import json
import sys

import openai

case, base_url, model = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30)
messages = [{"role": "user", "content": "hello"}]


def read(stream, at_most=None):
    text, pieces, finish, usage = "", 0, None, None
    for piece in stream:
        if piece.usage:
            usage = piece.usage.completion_tokens
        for choice in piece.choices:
            pieces += bool(choice.delta.content)
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
        if pieces == at_most:
            break
    return {"text": text, "pieces": pieces, "finish": finish, "completion_tokens": usage}


def chat(**options):
    return client.chat.completions.create(model=model, messages=messages, **{"max_tokens": 12, **options})


if case == "plain":
    answer = chat()
    said = {"text": answer.choices[0].message.content, "finish": answer.choices[0].finish_reason,
            "completion_tokens": answer.usage.completion_tokens}
elif case == "stream":
    said = read(chat(stream=True, stream_options={"include_usage": True}))
elif case == "leave":
    stream = chat(stream=True, max_tokens=2000)
    said = read(stream, at_most=2)
    stream.close()
elif case == "models":
    said = [entry.id for entry in client.models.list()]
elif case == "plain_error":
    try:
        chat()
        said = {}
    except openai.APIStatusError as error:
        said = {"status": error.status_code, "code": error.code, "message": error.message}
elif case == "stream_error":
    said = {"raised": False, "pieces": 0}
    try:
        for _ in chat(stream=True):
            said["pieces"] += 1
    except openai.APIError as error:
        said.update(raised=True, message=error.message)
print(json.dumps(said))
