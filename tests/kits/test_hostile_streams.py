"""The router between a well-meaning client and an upstream that does everything an upstream can do to it.

What is complete must reach the client byte for byte; what is broken must never look complete.
"""
import gzip
import json
import threading

from support import kit, wire
from support.kit import case, cases, equal, until
from support.router import BREAKER_OFF, FIRST_BYTE_TIMEOUT, SILENCE_TIMEOUT
from support.streams import (CHAT, CHAT_STREAM, COMPLETIONS, DONE, FINISH, FIRST, MESSAGES, MESSAGE_DELTA,
                             MESSAGE_START, MESSAGE_STOP, OPEN_SSE_HEAD, RESPONSES, RESPONSE_CREATED,
                             RESPONSE_DELTA, SECOND, SSE, SSE_HEAD, TEXT_FIRST, USAGE, ask, chat_chunk, event,
                             expect_broken, expect_refusal, expect_whole, in_chunks, response_end)
from support.upstream import BYTE_BY_BYTE, CLOSE, FLOOD, HALF_CLOSE, RESET, UNTIL_PEER_CLOSES, WAIT, json_answer
from support.wire import Client, chunk, chunked, head


def answer_to(world, script, request, flags=()):
    upstream = world.upstream(script)
    router = world.router(upstream, flags=flags)
    with Client(router.port, request) as client:
        return client.reply()


# --- Framing: complete streams, byte for byte -----------------------------------------------------------------

UMLAUTS = event(json.dumps(chat_chunk("äöü € 😀 漢字"), ensure_ascii=False).encode())


def with_line_end(end):
    return CHAT_STREAM.replace(b"\n", end)


BODIES = {
    "lines_end_in_lf": CHAT_STREAM,
    "lines_end_in_crlf": with_line_end(b"\r\n"),
    "lines_end_in_cr": with_line_end(b"\r"),
    "line_ends_mixed": FIRST.replace(b"\n", b"\r\n") + SECOND.replace(b"\n", b"\r") + FINISH + DONE,
    "several_data_lines_in_one_event": FIRST + b'data: {"choices":\ndata: []}\n\n' + FINISH + DONE,
    "no_space_after_the_colon": CHAT_STREAM.replace(b"data: ", b"data:"),
    "comments_between_events": FIRST + b": keep-alive\n\n" + SECOND + b":\n\n" + FINISH + DONE,
    "comment_before_the_first_event": b":\n\n: waiting\n\n" + CHAT_STREAM,
    "id_retry_and_unknown_fields": b"retry: 10\n\nid: 7\nx-own: y\n" + CHAT_STREAM,
    "byte_order_mark_first": b"\xef\xbb\xbf" + CHAT_STREAM,
    "blank_lines_and_empty_data": b"\n\n" + FIRST + b"\n\n\ndata\n\ndata:\n\n" + FINISH + DONE,
    "usage_chunk_after_the_finish_chunk": FIRST + FINISH + USAGE + DONE,
    "done_without_blank_line": FIRST + FINISH + b"data: [DONE]\n",
    "done_without_any_line_end": FIRST + FINISH + b"data: [DONE]",
    "comment_after_done": CHAT_STREAM + b": bye\n\n",
    "multi_byte_text": UMLAUTS + FINISH + DONE,
    "invalid_utf8_passes": event(b'{"choices":[{"delta":{"content":"\xff\xc3"}}]}') + FINISH + DONE,
    "event_of_256_kib": event(chat_chunk("x" * 262144)) + FINISH + DONE,
    "engine_error_event_then_done": FIRST + event({"error": {"message": "engine died", "type": "InternalServerError",
                                                             "param": None, "code": 500}}) + DONE,
}


@cases({f"complete__{name}": (body,) for name, body in BODIES.items()})
def complete_stream(world, body):
    """Three ways to cut the same stream into chunks, one after the other on one client connection."""
    line_cut = [piece + b"\n" for piece in body.split(b"\n")]
    line_cut[-1] = line_cut[-1][:-1]
    odd_cut = [body[at:at + 7919] for at in range(0, len(body), 7919)] if len(body) > 9000 else \
        [body[at:at + 7] for at in range(0, len(body), 7)]
    cuts = [[body], [piece for piece in line_cut if piece], odd_cut]
    upstream = world.upstream(*[[SSE_HEAD, *map(chunk, cut), b"0\r\n\r\n"] for cut in cuts])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in cuts:
            client.send(ask())
            expect_whole(client.reply(), body)
    equal(upstream.requests()[0].body, ask().partition(b"\r\n\r\n")[2], "request body")


@case
def complete__slow_drip_every_byte_of_body_and_framing(world):
    stream = UMLAUTS + FINISH + DONE
    expect_whole(answer_to(world, [BYTE_BY_BYTE(in_chunks(UMLAUTS, FINISH, DONE))], ask()), stream)


@case
def complete__event_cut_at_every_byte(world):
    """One request for each place at which two reads can cut the stream."""
    stream = UMLAUTS.replace(b"\n", b"\r\n") + DONE
    scripts = [[SSE_HEAD, chunk(stream[:at]), chunk(stream[at:]) + b"0\r\n\r\n"] for at in range(1, len(stream))]
    router = world.router(world.upstream(*scripts))
    with Client(router.port) as client:
        for _ in scripts:
            client.send(ask())
            expect_whole(client.reply(), stream)


@case
def complete__chunk_sizes_with_zeros_capitals_and_extensions(world):
    body = FIRST + FINISH + DONE
    size = b"%04X;name=\"value\"\r\n" % len(body)
    expect_whole(answer_to(world, [SSE_HEAD + size + body + b"\r\n000\r\n\r\n"], ask()), body)


@case
def complete__trailers_end_the_stream(world):
    upstream = world.upstream([SSE_HEAD + chunk(CHAT_STREAM) + b"0\r\nX-Checksum: 1\r\nX-More: 2\r\n\r\n"])
    router = world.router(upstream)
    with Client(router.port) as client:
        for _ in range(2):
            client.send(ask())
            expect_whole(client.reply(), CHAT_STREAM)


@case
def complete__with_content_length(world):
    script = [head("200 OK", SSE, f"Content-Length: {len(CHAT_STREAM)}") + CHAT_STREAM]
    expect_whole(answer_to(world, script, ask()), CHAT_STREAM)


@cases({"complete__http_1_1_delimited_by_close": (OPEN_SSE_HEAD,),
        "complete__http_1_0_delimited_by_close": (head("200 OK", SSE, version="HTTP/1.0"),)})
def delimited_by_close(world, its_head):
    expect_whole(answer_to(world, [its_head + FIRST, SECOND, FINISH, DONE, CLOSE], ask()), CHAT_STREAM)


@case
def complete__reset_after_done_is_still_complete(world):
    reply = answer_to(world, [SSE_HEAD, chunk(CHAT_STREAM), RESET], ask())
    equal(reply.status, 200, "status")
    equal(reply.body, CHAT_STREAM, "body")


@cases({"complete__100_continue_first": (head("100 Continue"),),
        "complete__103_early_hints_first": (head("103 Early Hints", "Link: </a>; rel=preload"),),
        "complete__several_1xx_first": (head("100 Continue") + head("102 Processing") + head("103 Early Hints"),)})
def interim_answers(world, interim):
    expect_whole(answer_to(world, [interim, in_chunks(CHAT_STREAM)], ask()), CHAT_STREAM)


@cases({"complete__messages": (MESSAGES, MESSAGE_START + MESSAGE_DELTA + MESSAGE_STOP),
        "complete__messages_engine_error_event": (
            MESSAGES, MESSAGE_START + event({"type": "error", "error": {"type": "overloaded_error",
                                                                        "message": "full"}}, "error")),
        "complete__responses_completed": (RESPONSES, RESPONSE_CREATED + RESPONSE_DELTA + response_end("completed")),
        "complete__responses_incomplete": (RESPONSES, RESPONSE_CREATED + response_end("incomplete")),
        "complete__responses_failed": (RESPONSES, RESPONSE_CREATED + response_end("failed")),
        "complete__completions": (COMPLETIONS, TEXT_FIRST + DONE)})
def other_endpoints(world, path, stream):
    expect_whole(answer_to(world, [in_chunks(stream)], ask(path)), stream)


@case
def events_leave_as_they_arrive(world):
    """The second event is sent only after the client has the first."""
    has_first = threading.Event()
    router = world.router(world.upstream([SSE_HEAD, chunk(FIRST), WAIT(has_first), chunked(SECOND, FINISH, DONE)]))
    with Client(router.port, ask()) as client:
        client.so_far(FIRST)
        until(lambda: router.books()["in_flight"] == 1, "one request in flight")
        has_first.set()
        reply = client.reply()
        expect_whole(reply, CHAT_STREAM)
        equal(reply.header("cache-control"), "no-cache", "Cache-Control")
        equal(reply.header("x-accel-buffering"), "no", "X-Accel-Buffering")


# --- Broken after the first event: an error event, no true end ------------------------------------------------

HALF = SECOND[:len(SECOND) // 2]
BREAKS = {
    "reset_between_events": (RESET,),
    "reset_inside_an_event": (chunk(HALF), RESET),
    "reset_inside_a_chunk_header": (b"1", RESET),
    "reset_after_a_chunk_header": (b"1f\r\n", RESET),
    "reset_inside_chunk_data": (b"1f\r\ndata: {", RESET),
    "reset_before_the_line_end_of_a_chunk": (b"3\r\n: x", RESET),
    "reset_inside_the_last_chunk": (b"0\r\n", RESET),
    "fin_between_events": (CLOSE,),
    "fin_inside_an_event": (chunk(HALF), CLOSE),
    "half_close_between_events": (HALF_CLOSE,),
    "chunk_size_is_no_number": (b"zz\r\n", UNTIL_PEER_CLOSES),
    "chunk_size_overflows": (b"fffffffffffffffff\r\n", UNTIL_PEER_CLOSES),
    "chunk_without_its_line_end": (b"3\r\n: xGET /\r\n", UNTIL_PEER_CLOSES),
    "clean_end_without_done": (b"0\r\n\r\n",),
    "clean_end_inside_an_event": (chunk(HALF) + b"0\r\n\r\n",),
}


def break_after_first(world, path, its_head, first, steps, flags=()):
    """The break comes only after the client holds the first event; gives the whole reply."""
    has_first = threading.Event()
    upstream = world.upstream([its_head, first, WAIT(has_first), *steps])
    router = world.router(upstream, flags=flags)
    with Client(router.port, ask(path)) as client:
        client.so_far(b"one")
        has_first.set()
        return client.reply()


@cases({f"broken__{name}": (steps,) for name, steps in BREAKS.items()})
def broken_after_first_event(world, steps):
    reply = break_after_first(world, CHAT, SSE_HEAD, chunk(FIRST), steps)
    expect_broken(reply, CHAT, FIRST)


@cases({"broken__messages_reset": (MESSAGES, MESSAGE_START + MESSAGE_DELTA, RESET),
        "broken__messages_without_message_stop": (MESSAGES, MESSAGE_START + MESSAGE_DELTA, b"0\r\n\r\n"),
        "broken__responses_reset": (RESPONSES, RESPONSE_CREATED + RESPONSE_DELTA, RESET),
        "broken__responses_without_an_end": (RESPONSES, RESPONSE_CREATED + RESPONSE_DELTA, b"0\r\n\r\n"),
        "broken__completions_reset": (COMPLETIONS, TEXT_FIRST, RESET)})
def broken_on_other_endpoints(world, path, first, step):
    expect_broken(break_after_first(world, path, SSE_HEAD, chunk(first), (step,)), path, first)


@case
def broken__done_stands_only_inside_a_text(world):
    text = event(chat_chunk("data: [DONE]"))
    reply = break_after_first(world, CHAT, SSE_HEAD, chunk(FIRST), (chunk(text) + b"0\r\n\r\n",))
    expect_broken(reply, CHAT, FIRST + text)


@case
def broken__content_length_not_reached(world):
    its_head = head("200 OK", SSE, f"Content-Length: {len(CHAT_STREAM)}")
    expect_broken(break_after_first(world, CHAT, its_head, FIRST, (SECOND, CLOSE)), CHAT, FIRST + SECOND)


@case
def broken__delimited_by_close_without_done(world):
    expect_broken(break_after_first(world, CHAT, OPEN_SSE_HEAD, FIRST, (CLOSE,)), CHAT, FIRST)


@case
def broken__silence_between_events(world):
    reply = break_after_first(world, CHAT, SSE_HEAD, chunk(FIRST), (UNTIL_PEER_CLOSES,),
                              (SILENCE_TIMEOUT, "0.3"))
    expect_broken(reply, CHAT, FIRST)


@case
def broken__client_speaks_http_1_0(world):
    has_first = threading.Event()
    router = world.router(world.upstream([SSE_HEAD, chunk(FIRST), WAIT(has_first), RESET]))
    with Client(router.port, ask().replace(b"HTTP/1.1", b"HTTP/1.0", 1)) as client:
        client.so_far(FIRST)
        has_first.set()
        reply = client.reply()
    equal(reply.header("transfer-encoding"), None, "Transfer-Encoding to an HTTP/1.0 client")
    assert DONE not in reply.body
    assert "error" in json.loads(reply.events()[-1][1]), reply.body


# --- Broken before anything reached the client: a definite status ---------------------------------------------

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
    expect_refusal(answer_to(world, tolerant(script), ask()), status)


def tolerant(script):
    """Large pieces are sent without waiting for the router to read them: it may refuse them on the way."""
    return [FLOOD(step) if isinstance(step, bytes) and len(step) > 65536 else step for step in script]


@case
def refused__reset_after_a_comment(world):
    """A comment may be held or passed on at once (that commits the status): a failure it is in both."""
    comment = b": waiting\n\n"
    reply = answer_to(world, [SSE_HEAD, chunk(comment), RESET], ask())
    if reply.status == 200:
        expect_broken(reply, CHAT, comment)
    else:
        expect_refusal(reply, 502)


@case
def refused__silence_before_the_head(world):
    reply = answer_to(world, [UNTIL_PEER_CLOSES], ask(), (FIRST_BYTE_TIMEOUT, "0.3"))
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
    reply = answer_to(world, [in_chunks(error_event(code), DONE)], ask())
    assert reply.status in statuses, f"status {reply.status}: {reply.body!r}"
    assert reply.complete and b"queue full" in reply.body and b"data:" not in reply.body, reply.body


# --- Retries --------------------------------------------------------------------------------------------------

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


# --- Answers that are no streams ------------------------------------------------------------------------------

PLAIN = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "one"}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}}
PLAIN_BYTES = json.dumps(PLAIN, indent=1).encode()


@case
def plain__json_passes_byte_for_byte(world):
    expect_whole(answer_to(world, [json_answer(PLAIN_BYTES)], ask(stream=False)), PLAIN_BYTES)


@case
def plain__json_answer_to_a_stream_request(world):
    expect_whole(answer_to(world, [json_answer(PLAIN_BYTES)], ask()), PLAIN_BYTES)


@case
def plain__error_labelled_as_an_event_stream(world):
    body = b'{"error":{"message":"too long","type":"BadRequestError","param":null,"code":400}}'
    script = [head("400 Bad Request", SSE, f"Content-Length: {len(body)}") + body]
    reply = answer_to(world, script, ask())
    equal((reply.status, reply.body, reply.complete), (400, body, True), "answer")
    equal(reply.header("content-type"), SSE.split(": ")[1], "Content-Type")


@cases({"plain__cut_before_its_length": ([json_answer(PLAIN_BYTES)[:-9], CLOSE],),
        "plain__reset_before_its_length": ([json_answer(PLAIN_BYTES)[:-9], RESET],),
        "plain__chunked_and_cut": ([head("200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")
                                    + chunk(PLAIN_BYTES[:50]), CLOSE],)})
def plain_cut(world, script):
    """Either nothing had been passed on yet and it is a 502, or the client can see that the body is cut."""
    reply = answer_to(world, script, ask(stream=False))
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
    reply = answer_to(world, [json_answer(body, "200 OK", "Content-Encoding: gzip")], ask(stream=False))
    expect_whole(reply, body)
    equal(reply.header("content-encoding"), "gzip", "Content-Encoding")


@case
def plain__content_length_beside_chunked_does_not_smuggle(world):
    script = [head("200 OK", "Content-Type: application/json", "Content-Length: 3", "Transfer-Encoding: chunked")
              + chunked(PLAIN_BYTES), CLOSE]
    reply = answer_to(world, script, ask(stream=False))
    if reply.status == 200:
        expect_whole(reply, PLAIN_BYTES)
        equal(reply.header("content-length") and reply.header("transfer-encoding"), None, "both framings")
    else:
        expect_refusal(reply, 502)


@case
def plain__header_of_12_kib_passes(world):
    reply = answer_to(world, [json_answer(PLAIN_BYTES, "200 OK", "X-Long: " + "h" * 12288)], ask(stream=False))
    expect_whole(reply, PLAIN_BYTES)
    equal(reply.header("x-long"), "h" * 12288, "X-Long")


@case
def plain__hop_by_hop_headers_stay_behind(world):
    script = [json_answer(PLAIN_BYTES, "200 OK", "Connection: keep-alive, X-Hop", "Keep-Alive: timeout=5",
                          "X-Hop: 1", "Proxy-Authenticate: Basic", "X-Stays: 1")]
    reply = answer_to(world, script, ask(stream=False))
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


# --- Everything after everything ------------------------------------------------------------------------------

@case
def all_breaks_on_one_router_leave_no_descriptor(world):
    scripts = [[SSE_HEAD, chunk(FIRST), *steps] for steps in BREAKS.values()]
    scripts += [tolerant(script) for script, _ in EARLY.values()]
    upstreams = [world.upstream([in_chunks(CHAT_STREAM)]) for _ in range(2)]
    router = world.router(*upstreams, flags=BREAKER_OFF)

    def burst():
        for script in scripts:
            for upstream in upstreams:
                upstream.scripts[:] = [script]
            with Client(router.port, ask()) as client:
                client.reply()
        for upstream in upstreams:
            upstream.scripts[:] = [[in_chunks(CHAT_STREAM)]]
        until(router.books_are_zero, "books back to zero")
        until(lambda: router.answers("/ready"), "ready again after the faults")

    burst()
    before = router.descriptors()
    burst()
    until(lambda: router.descriptors() <= before + 2, "no more descriptors than after the first round")


if __name__ == "__main__":
    kit.main()
