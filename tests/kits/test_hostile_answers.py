"""Upstream answers that fail before anything reached the client, that are retried, or that are no streams.

Before the first byte the client gets a definite status with an error in OpenAI's shape, or another worker's
answer; a plain answer passes byte for byte or is visibly cut.
"""
import gzip
import json

from support import kit, wire
from support.kit import case, cases, equal
from support.router import BREAKER_OFF, FIRST_BYTE_TIMEOUT
from support.streams import (CHAT, CHAT_STREAM, DONE, FIRST, SSE, SSE_HEAD, ask, event, expect_broken,
                             expect_refusal, expect_whole, in_chunks)
from support.upstream import CLOSE, FLOOD, RESET, UNTIL_PEER_CLOSES, json_answer
from support.wire import Client, chunk, chunked, head


# --- Broken before anything reached the client: a definite status -------------------------------------------

EARLY = {
    "reset_before_the_head": ([RESET], 502),
    "fin_before_the_head": ([CLOSE], 502),
    "reset_inside_the_head": ([b"HTTP/1.1 200 OK\r\nContent-Ty", RESET], 502),
    "fin_inside_the_head": ([b"HTTP/1.1 200 OK\r\nContent-Ty", CLOSE], 502),
    "reset_after_a_1xx": ([head("100 Continue"), RESET], 502),
    "reset_after_the_head": ([SSE_HEAD, RESET], 502),
    "stream_with_nothing_in_it": ([SSE_HEAD + b"0\r\n\r\n"], 502),
    "garbage_for_a_head": ([b"\x00\x01 how do you do\r\n\r\n", UNTIL_PEER_CLOSES], 502),
    "head_of_another_protocol": ([b"SSH-2.0-OpenSSH_9.2\r\n", UNTIL_PEER_CLOSES], 502),
    "status_code_is_no_number": ([b"HTTP/1.1 2x0 OK\r\n\r\n", UNTIL_PEER_CLOSES], 502),
    "header_of_one_mib": ([b"HTTP/1.1 200 OK\r\nX-Huge: " + b"h" * (1 << 20), UNTIL_PEER_CLOSES], 502),
    "header_without_end": ([b"HTTP/1.1 200 OK\r\n" + b"X-Line: again\r\n" * 100000, UNTIL_PEER_CLOSES], 502),
    "two_content_lengths": ([head("200 OK", "Content-Length: 2", "Content-Length: 3") + b"{}x", UNTIL_PEER_CLOSES],
                            502),
    "negative_content_length": ([head("200 OK", "Content-Length: -2") + b"{}", UNTIL_PEER_CLOSES], 502),
    "upgrade_nobody_asked_for": ([head("101 Switching Protocols", "Upgrade: x", "Connection: upgrade"),
                                  UNTIL_PEER_CLOSES], 502),
}


@cases({f"refused__{name}": arguments for name, arguments in EARLY.items()})
def broken_before_the_first_byte(world, script, status):
    expect_refusal(world.answer(tolerant(script), ask()), status)


def tolerant(script):
    """Large pieces are sent without waiting for the router to read them: it may refuse them on the way."""
    return [FLOOD(step) if isinstance(step, bytes) and len(step) > 65536 else step for step in script]


@case
def refused__reset_after_a_comment(world):
    """A comment may be held or passed on at once (that commits the status): a failure it is in both."""
    comment = b": waiting\n\n"
    reply = world.answer([SSE_HEAD, chunk(comment), RESET], ask())
    if reply.status == 200:
        expect_broken(reply, CHAT, comment)
    else:
        expect_refusal(reply, 502)


@case
def refused__silence_before_the_head(world):
    reply = world.answer([UNTIL_PEER_CLOSES], ask(), (FIRST_BYTE_TIMEOUT, "0.3"))
    expect_refusal(reply, 504)


@case
def refused__worker_not_there(world):
    upstream = world.upstream([in_chunks(CHAT_STREAM)])
    router = world.router(upstream)
    upstream.close()
    with Client(router.port, ask()) as client:
        expect_refusal(client.reply(), 502, 503)


def error_event(code, kind="ServiceUnavailable"):
    return event({"error": {"message": "queue full", "type": kind, "param": None, "code": code}})


@cases({"refused__first_event_an_error_500": (500, (500, 502)),
        "refused__first_event_an_error_503": (503, (503,)),
        "refused__first_event_an_error_429": (429, (429, 503)),
        "refused__first_event_an_error_400": (400, (400,))})
def first_event_an_error(world, code, statuses):
    reply = world.answer([in_chunks(error_event(code), DONE)], ask())
    assert reply.status in statuses, f"status {reply.status}: {reply.body!r}"
    assert reply.complete and b"queue full" in reply.body and b"data:" not in reply.body, reply.body


@case
def all_refused_answers_on_one_router_leave_no_descriptor(world):
    upstream = world.upstream([in_chunks(CHAT_STREAM)])
    router = world.router(upstream, flags=BREAKER_OFF)
    scripts = [tolerant(script) for script, _ in EARLY.values()]
    kit.leaves_no_descriptor(router, upstream, scripts, ask())


# --- Retries ------------------------------------------------------------------------------------------------

RETRIED = {
    "reset_before_the_head": [RESET],
    "reset_after_the_head": [SSE_HEAD, RESET],
    "first_event_an_error": [in_chunks(error_event(503), DONE)],
    "status_502": [json_answer({"error": "x"}, "502 Bad Gateway")],
    "status_503": [json_answer({"error": "x"}, "503 Service Unavailable")],
    "status_504": [json_answer({"error": "x"}, "504 Gateway Timeout")],
    "status_429": [json_answer({"error": "x"}, "429 Too Many Requests")],
}


@cases({f"retry__{name}": (script,) for name, script in RETRIED.items()})
def goes_to_another_worker(world, script):
    bad, good = world.upstream(script), world.upstream([in_chunks(CHAT_STREAM)])
    router = world.router(bad, good, flags=("--policy", "round_robin"))
    sent = 0
    with Client(router.port) as client:
        while sent < 4 and not bad.requests():
            client.send(ask())
            expect_whole(client.reply(), CHAT_STREAM)
            sent += 1
    equal((len(bad.requests()), len(good.requests())), (1, sent), "requests at the bad and the good worker")


@case
def retry__never_after_the_first_event(world):
    script = [SSE_HEAD, chunk(FIRST), RESET]
    workers = world.upstream(script), world.upstream(script)
    router = world.router(*workers)
    with Client(router.port, ask()) as client:
        expect_broken(client.reply(), CHAT, FIRST)
    equal(sum(len(worker.requests()) for worker in workers), 1, "attempts")


@case
def retry__status_500_is_passed_on_as_it_came(world):
    answer = {"error": {"message": "CUDA", "type": "InternalServerError", "param": None, "code": 500}}
    workers = [world.upstream([json_answer(answer, "500 Internal Server Error")]) for _ in range(2)]
    router = world.router(*workers)
    with Client(router.port, ask()) as client:
        reply = client.reply()
    equal((reply.status, reply.json()), (500, answer), "answer")
    equal(sum(len(worker.requests()) for worker in workers), 1, "attempts")


@case
def retry__reused_connection_that_gave_nothing(world):
    """The engine closes an idle connection just as the next request goes out: nobody notices."""
    upstream = world.upstream([in_chunks(CHAT_STREAM)], [RESET], [in_chunks(CHAT_STREAM)])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(2):
            client.send(ask())
            expect_whole(client.reply(), CHAT_STREAM)
    equal(len(upstream.requests()), 3, "requests upstream")


# --- Answers that are no streams ----------------------------------------------------------------------------

PLAIN = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "one"}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}}
PLAIN_BYTES = json.dumps(PLAIN, indent=1).encode()


@case
def plain__json_passes_byte_for_byte(world):
    expect_whole(world.answer([json_answer(PLAIN_BYTES)], ask(stream=False)), PLAIN_BYTES)


@case
def plain__json_answer_to_a_stream_request(world):
    expect_whole(world.answer([json_answer(PLAIN_BYTES)], ask()), PLAIN_BYTES)


@case
def plain__error_labelled_as_an_event_stream(world):
    body = b'{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}'
    script = [head("400 Bad Request", SSE, f"Content-Length: {len(body)}") + body]
    reply = world.answer(script, ask())
    equal((reply.status, reply.body, reply.complete), (400, body, True), "answer")
    equal(reply.header("content-type"), SSE.split(": ")[1], "Content-Type")


@cases({"plain__cut_before_its_length": ([json_answer(PLAIN_BYTES)[:-9], CLOSE],),
        "plain__reset_before_its_length": ([json_answer(PLAIN_BYTES)[:-9], RESET],),
        "plain__chunked_and_cut": ([head("200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")
                                    + chunk(PLAIN_BYTES[:50]), CLOSE],)})
def plain_cut(world, script):
    """Either nothing had been passed on yet and it is a 502, or the client can see that the body is cut."""
    reply = world.answer(script, ask(stream=False))
    if reply.status == 200:
        assert not reply.complete and PLAIN_BYTES.startswith(reply.body), reply.body
        assert reply.ended, "the connection stays open after a cut answer"
    else:
        expect_refusal(reply, 502)


@case
def plain__bytes_beyond_its_length_reach_nobody(world):
    """What follows the announced length must never be taken for the next answer."""
    smuggled = json_answer(b'{"smuggled":true}')
    upstream = world.upstream([json_answer(PLAIN_BYTES) + smuggled], [json_answer(PLAIN_BYTES)])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(3):
            client.send(ask(stream=False))
            expect_whole(client.reply(), PLAIN_BYTES)


@case
def plain__early_close_after_a_whole_answer(world):
    upstream = world.upstream([json_answer(PLAIN_BYTES), CLOSE])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(3):
            client.send(ask(stream=False))
            expect_whole(client.reply(), PLAIN_BYTES)


@case
def plain__answer_before_the_request_body_was_read(world):
    """An upstream may refuse on the head alone and close: the client gets that answer, not a 502."""
    refusal = b'{"error":{"message":"too large","type":"BadRequestError","param":null,"code":413}}'
    answer = json_answer(refusal, "413 Content Too Large", "Connection: close")
    router = world.router(world.upstream([answer, CLOSE], reads_bodies=False))
    with Client(router.port, ask(stream=False, prompt="x" * 500000)) as client:
        reply = client.reply()
    equal((reply.status, reply.body), (413, refusal), "answer")


@case
def plain__gzip_passes_untouched(world):
    body = gzip.compress(PLAIN_BYTES)
    reply = world.answer([json_answer(body, "200 OK", "Content-Encoding: gzip")], ask(stream=False))
    expect_whole(reply, body)
    equal(reply.header("content-encoding"), "gzip", "Content-Encoding")


@case
def plain__content_length_beside_chunked_does_not_smuggle(world):
    script = [head("200 OK", "Content-Type: application/json", "Content-Length: 3", "Transfer-Encoding: chunked")
              + chunked(PLAIN_BYTES), CLOSE]
    reply = world.answer(script, ask(stream=False))
    if reply.status == 200:
        expect_whole(reply, PLAIN_BYTES)
        equal(reply.header("content-length") and reply.header("transfer-encoding"), None, "both framings")
    else:
        expect_refusal(reply, 502)


@case
def plain__header_of_12_kib_passes(world):
    reply = world.answer([json_answer(PLAIN_BYTES, "200 OK", "X-Long: " + "h" * 12288)], ask(stream=False))
    expect_whole(reply, PLAIN_BYTES)
    equal(reply.header("x-long"), "h" * 12288, "X-Long")


@case
def plain__hop_by_hop_headers_stay_behind(world):
    script = [json_answer(PLAIN_BYTES, "200 OK", "Connection: keep-alive, X-Hop", "Keep-Alive: timeout=5",
                          "X-Hop: 1", "Proxy-Authenticate: Basic", "X-Stays: 1")]
    reply = world.answer(script, ask(stream=False))
    expect_whole(reply, PLAIN_BYTES)
    names = {name for name, _ in reply.headers}
    equal(names & {"keep-alive", "x-hop", "proxy-authenticate"}, set(), "hop-by-hop headers that got through")
    equal(reply.header("x-stays"), "1", "X-Stays")


@cases({"plain__204_has_no_body": ("204 No Content", ()),
        "plain__304_has_no_body_whatever_its_length": ("304 Not Modified", ("Content-Length: 99",))})
def no_body(world, status, lines):
    upstream = world.upstream([head(status, *lines)])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(2):
            client.send(ask(stream=False))
            reply = client.reply()
            equal((reply.status, reply.body, reply.complete), (int(status[:3]), b"", True), "answer")


@case
def plain__head_has_no_body_whatever_its_length(world):
    upstream = world.upstream([head("200 OK", "Content-Type: application/json", "Content-Length: 99")])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(2):
            client.send(wire.request("/v1/files/f1", method="HEAD"))
            equal(client.reply(to_head=True).status, 200, "status")

if __name__ == "__main__":
    kit.main()
