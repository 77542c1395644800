"""Event streams of the three families of endpoints, and how a broken one must look to the client."""
import json

from . import wire
from .kit import equal, shorten

CHAT, COMPLETIONS, MESSAGES, RESPONSES = ("/v1/chat/completions", "/v1/completions", "/v1/messages",
                                          "/v1/responses")


def ask(path=CHAT, *lines, stream=True, **fields):
    """The bytes of a client's request for model m."""
    body = {"model": "m", "stream": stream, "max_tokens": 16, **fields}
    if path in (CHAT, MESSAGES):
        body.setdefault("messages", [{"role": "user", "content": "hello"}])
    elif path == RESPONSES:
        body.setdefault("input", "hello")
    else:
        body.setdefault("prompt", "hello")
    return wire.request(path, body, *lines)


def event(document, name=None, end=b"\n"):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return (b"event: " + name.encode() + end if name else b"") + b"data: " + data + end + end


def chat_chunk(text=None, finish=None, **extra):
    delta = {} if text is None else {"content": text}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **extra}


DONE = b"data: [DONE]\n\n"
FIRST = event(chat_chunk("one"))
SECOND = event(chat_chunk(" two"))
FINISH = event(chat_chunk(finish="stop"))
USAGE = event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
               "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}})
CHAT_STREAM = FIRST + SECOND + FINISH + DONE

TEXT_FIRST = event({"id": "cmpl-1", "object": "text_completion", "choices": [{"index": 0, "text": "one"}]})

MESSAGE_START = event({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": []}},
                      "message_start")
MESSAGE_DELTA = event({"type": "content_block_delta", "index": 0,
                       "delta": {"type": "text_delta", "text": "one"}}, "content_block_delta")
MESSAGE_STOP = event({"type": "message_stop"}, "message_stop")

RESPONSE_CREATED = event({"type": "response.created", "response": {"id": "resp_1"}}, "response.created")
RESPONSE_DELTA = event({"type": "response.output_text.delta", "delta": "one"}, "response.output_text.delta")


def response_end(how):
    return event({"type": f"response.{how}", "response": {"id": "resp_1", "status": how}}, f"response.{how}")


SSE = "Content-Type: text/event-stream; charset=utf-8"
SSE_HEAD = wire.head("200 OK", SSE, "Transfer-Encoding: chunked")
OPEN_SSE_HEAD = wire.head("200 OK", SSE, "Connection: close")


def in_chunks(*pieces):
    return SSE_HEAD + wire.chunked(*pieces)


def expect_whole(reply, body):
    equal(reply.status, 200, "status")
    equal(reply.body, body, "body")
    assert reply.complete, f"the response did not end as complete (connection: {reply.ended})"


TRUE_ENDS = (b"[DONE]", b"message_stop", b"response.completed", b"response.incomplete", b"response.failed")


def expect_broken(reply, path=CHAT, intact=b""):
    """An error event in the endpoint's shape after the intact events, and no true end of any kind."""
    equal(reply.status, 200, "status")
    assert reply.body.startswith(intact), f"events before the break changed: {shorten(reply.body)}"
    assert not reply.complete, f"a broken stream was closed as complete: {shorten(reply.body)}"
    assert reply.ended in ("fin", "reset"), "the connection stays open after a broken stream"
    after = reply.body[len(intact):]
    assert not any(end in after for end in TRUE_ENDS), f"a true end was invented: {shorten(after)}"
    assert reply.events(), "no event at all"
    name, data = reply.events()[-1]
    expect_error_event(name, data, path)


def expect_error_event(name, data, path):
    document = json.loads(data)
    if path == MESSAGES:
        equal(name, "error", "event name")
        equal(document["type"], "error", "type")
        assert document["error"]["type"] and document["error"]["message"], data
    elif path == RESPONSES:
        equal(name, "error", "event name")
        equal(document["type"], "error", "type")
        assert document["message"] and "code" in document and "param" in document, data
    else:
        expect_error_shape(document)


def expect_error_shape(document):
    """{"error": {message, type, param, code}} as OpenAI's clients read it."""
    assert isinstance(document.get("error"), dict), f"no error object: {document}"
    error = document["error"]
    equal(sorted(error), ["code", "message", "param", "type"], "keys of the error")
    assert isinstance(error["message"], str) and error["message"], document
    assert isinstance(error["type"], str) and error["type"], document


def expect_refusal(reply, *statuses):
    """A definite JSON error, before anything else was sent."""
    assert reply.status in statuses, f"status {reply.status}, expected one of {statuses}: {shorten(reply.body)}"
    assert reply.complete, f"the error answer is not complete: {shorten(reply.body)}"
    assert (reply.header("content-type") or "").startswith("application/json"), reply.headers
    expect_error_shape(reply.json())
    return reply.json()["error"]
