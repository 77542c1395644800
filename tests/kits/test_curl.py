"""curl through the router, in front of an emulated engine."""
import json
import subprocess

from support import kit
from support.kit import case, equal
from support.router import Emulator
from support.wire import Reply

MODEL = "tiny-chat"


def curl(*arguments):
    call = ["curl", "--silent", "--show-error", "--max-time", "30", "--include", *arguments]
    result = subprocess.run(call, capture_output=True, check=False)
    equal((result.returncode, result.stderr), (0, b""), "curl's exit code and complaints")
    return result.stdout


def answer(raw):
    """curl prints the body decoded: what is left is delimited by the end of its output."""
    while raw.startswith(b"HTTP/1.1 100"):
        raw = raw.partition(b"\r\n\r\n")[2]
    top, _, body = raw.partition(b"\r\n\r\n")
    plain = "\r\n".join(line for line in top.decode().split("\r\n")
                        if not line.lower().startswith(("transfer-encoding", "content-length")))
    return Reply(plain.encode() + b"\r\n\r\n" + body, "fin")


def served(world):
    return world.router(Emulator(world, MODEL))


def body(**fields):
    messages = [{"role": "user", "content": "hello"}]
    return json.dumps({"model": MODEL, "messages": messages, "max_tokens": 12, **fields})


def post(router, document, *arguments):
    return answer(curl(f"{router.url}/v1/chat/completions", "-H", "Content-Type: application/json", *arguments,
                       "--data-binary", document))


@case
def plain_chat(world):
    document = post(served(world), body()).json()
    equal(document["usage"]["completion_tokens"], 12, "tokens")
    equal(document["choices"][0]["finish_reason"], "length", "finish reason")


@case
def streamed_chat(world):
    reply = post(served(world), body(stream=True, stream_options={"include_usage": True}), "--no-buffer")
    events = [data for _, data in reply.events()]
    equal(events[-1], "[DONE]", "last event")
    equal(json.loads(events[-2])["usage"]["completion_tokens"], 12, "tokens")
    assert reply.header("content-type").startswith("text/event-stream"), reply.headers


@case
def http_1_0_and_head(world):
    router = served(world)
    equal(post(router, body(), "--http1.0").json()["usage"]["completion_tokens"], 12, "tokens")
    raw = curl("--head", f"{router.url}/v1/models")
    assert raw.startswith(b"HTTP/1.1 200"), raw


@case
def body_over_one_mib_with_expect(world):
    """curl asks for 100-continue by itself here; a file keeps the body off the command line."""
    router = served(world)
    large = world.folder / "body.json"
    large.write_text(body(padding="x" * (2 << 20)))
    reply = post(router, f"@{large}", "-H", "Expect: 100-continue")
    equal(reply.status, 200, "status")


@case
def compressed_is_not_asked_of_the_engine(world):
    reply = post(served(world), body(stream=True), "--compressed")
    equal((reply.status, reply.header("content-encoding")), (200, None), "status and coding")


if __name__ == "__main__":
    kit.main()
