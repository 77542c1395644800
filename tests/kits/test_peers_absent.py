#!/usr/bin/env python3
"""A router that has no peers is the router that knows nothing of peers: 21 requests and the three paths of status, each
compared byte for byte with what is written down in golden/peers_absent.txt, both what the client gets and what the
engine gets. Ports, ids that the router draws and times are masked, nothing else. (E6)

`--write` writes the file anew: only where an answer of a router without peers was meant to change."""
import pathlib
import re

from support import kit, wire
from support.kit import case, equal, until
from support.streams import CHAT, CHAT_STREAM, COMPLETIONS, DONE, FIRST, MESSAGES, RESPONSES, SECOND, TEXT_FIRST, USAGE
from support.streams import MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, RESPONSE_CREATED, RESPONSE_DELTA, SSE_HEAD
from support.streams import ask, event, in_chunks, response_end
from support.upstream import CLOSE, json_answer
from support.wire import Client, chunk

GOLDEN = pathlib.Path(__file__).parent / "golden" / "peers_absent.txt"
kit.option("--write", action="store_true", help="write the golden file instead of comparing with it")

WHOLE = {"id": "r1", "object": "chat.completion", "model": "m",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "one two"}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
ERROR = {"error": {"message": "no", "type": "server_error", "param": None, "code": None}}
ID = "X-Request-Id: golden"
# All that peers say to each other, from somebody who is nobody's peer: passes, or not, as it always did.
PEER_LINES = ("X-Evenkeel-Hop: other", "X-Evenkeel-Ahead: 1", "X-Evenkeel-Load: epoch=1;seq=1;active=9;yours=0",
              "X-Lobes-Proxied: primary", "X-Lobes-Affinity: me", "X-Lobes-Override: true",
              "Authorization: Bearer client")
PEER_ANSWER_LINES = ("X-Evenkeel-Load: epoch=1;seq=1;active=9;yours=0", "X-Evenkeel-Sent-Back: 1",
                     "X-Evenkeel-Route-Reason: none", "X-Lobes-Served-By: local", "X-Lobes-Route-Reason: local-idle")


def get(path, method="GET"):
    return wire.request(path, b"", ID, method=method)


# name: (request, what the engine answers, or None if nothing may reach it)
CASES = {
    "chat, whole": (ask(CHAT, ID, stream=False), [json_answer(WHOLE)]),
    "chat, whole, id of the router's own": (ask(CHAT, stream=False), [json_answer(WHOLE)]),
    "chat, streamed": (ask(CHAT, ID), [in_chunks(CHAT_STREAM)]),
    "chat, streamed, with usage": (ask(CHAT, ID, stream_options={"include_usage": True}),
                                   [in_chunks(FIRST, SECOND, USAGE, DONE)]),
    "completions, streamed": (ask(COMPLETIONS, ID), [in_chunks(TEXT_FIRST, DONE)]),
    "messages, streamed": (ask(MESSAGES, ID), [in_chunks(MESSAGE_START, MESSAGE_DELTA, MESSAGE_STOP)]),
    "responses, streamed": (ask(RESPONSES, ID), [in_chunks(RESPONSE_CREATED, RESPONSE_DELTA, response_end("completed"))]),
    "embeddings": (wire.request("/v1/embeddings", {"model": "m", "input": "x"}, ID), [json_answer({"data": []})]),
    "by alias": (ask(CHAT, ID, stream=False, model="role"), [json_answer(WHOLE)]),
    "no model named": (wire.request(CHAT, {"messages": []}, ID), [json_answer(WHOLE)]),
    "unknown model": (ask(CHAT, ID, model="nobody"), None),
    "no JSON": (wire.request(CHAT, b'{"model": "m", ', ID), None),
    "model of a wrong type": (ask(CHAT, ID, model=7), None),
    "wrong method": (get(CHAT), None),
    "list of models": (get("/v1/models"), None),
    "the engine says 400": (ask(CHAT, ID), [json_answer(ERROR, "400 Bad Request")]),
    "the engine says 429": (ask(CHAT, ID), [json_answer(ERROR, "429 Too Many Requests", "Retry-After: 3")]),
    "the engine says 500": (ask(CHAT, ID), [json_answer(ERROR, "500 Internal Server Error")]),
    "the engine dies before it answers": (ask(CHAT, ID), [CLOSE]),
    "the engine dies in its answer": (ask(CHAT, ID), [SSE_HEAD, chunk(FIRST), CLOSE]),
    "fields between peers, from nobody's peer": (ask(CHAT, ID, *PEER_LINES, stream=False),
                                                 [json_answer(WHOLE, "200 OK", *PEER_ANSWER_LINES)]),
    "GET /status": (get("/status"), None),
    "GET /capabilities": (get("/capabilities"), None),
    "POST /peers/news": (wire.request("/peers/news", {"epoch": 1, "seq": 1, "active": 9, "yours": 0}, ID), None),
}


def lines_of(raw):
    """Bytes as lines of text, each as it stands, with its end made visible."""
    return [repr(line)[2:-1] for line in re.findall(rb"[^\n]*\n|[^\n]+$", raw)]


def masked(raw, ports):
    for name, port in ports.items():
        raw = raw.replace(f":{port}".encode(), f":<{name}>".encode())
    raw = re.sub(rb"(?<=X-Request-Id: )[0-9a-f]{24}\b", b"<id>", raw)
    return re.sub(rb"((?:Waited|Signal-Age)-Ms|retry-after-ms): \d+", rb"\1: <ms>", raw)


def play(world, name, request, script):
    """What the engine got and what the client got; of each case in a fleet of its own."""
    upstream = world.upstream(script or [json_answer(ERROR, "418 Never Asked")])
    config = world.folder / "config.toml"
    config.write_text('[[models]]\nname = "m"\naliases = ["role"]\n')
    router = world.router(upstream, flags=("--config", config, "--retry-attempts", 1, "--threads", 1))
    with Client(router.port, request) as client:
        raw = client.whole_bytes()
    until(router.books_are_zero, "books back to zero")
    ports = {"router": router.port, "engine": upstream.port}
    asked = [one.head.encode("latin-1") + b"\r\n\r\n" + one.body for one in upstream.requests()]
    equal(len(asked), 1 if script else 0, f"{name}: requests that reached the engine")
    text = [f"=== {name}"]
    for one in asked:
        text += ["--- the engine gets", *lines_of(masked(one, ports))]
    return "\n".join([*text, "--- the client gets", *lines_of(masked(raw, ports)), ""])


@case
def answers_without_peers_are_byte_for_byte_what_they_were(world):
    found = [play(world, name, request, script) for name, (request, script) in CASES.items()]
    equal((len(found), len(set(found))), (24, 24), "cases, and different ones among them")
    if world.options.write:
        GOLDEN.write_text("".join(found))
        return
    parts = re.split(r"(?m)^(?==== )", GOLDEN.read_text())
    for written, played in zip(filter(None, parts), found, strict=True):
        equal(played.splitlines(), written.splitlines(), "bytes")


if __name__ == "__main__":
    kit.main()
