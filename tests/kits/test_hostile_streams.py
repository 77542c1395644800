"""The router between a well-meaning client and an upstream that does everything an upstream can do to it.

What is complete must reach the client byte for byte; what is broken must never look complete.
"""
import json
import threading

from support import kit
from support.kit import case, cases, equal, until
from support.router import BREAKER_OFF, SILENCE_TIMEOUT
from support.streams import (CHAT, CHAT_STREAM, COMPLETIONS, DONE, FINISH, FIRST, MESSAGES, MESSAGE_DELTA,
                             MESSAGE_START, MESSAGE_STOP, OPEN_SSE_HEAD, RESPONSES, RESPONSE_CREATED,
                             RESPONSE_DELTA, SECOND, SSE, SSE_HEAD, TEXT_FIRST, USAGE, ask, chat_chunk, event,
                             expect_broken, expect_whole, in_chunks, response_end)
from support.upstream import BYTE_BY_BYTE, CLOSE, HALF_CLOSE, RESET, UNTIL_PEER_CLOSES, WAIT
from support.wire import Client, chunk, chunked, head


# --- Framing: complete streams, byte for byte ---------------------------------------------------------------

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
    expect_whole(world.answer([BYTE_BY_BYTE(in_chunks(UMLAUTS, FINISH, DONE))], ask()), stream)


@case
def complete__event_cut_at_every_byte(world):
    """One request for each place at which two reads can cut the stream."""
    stream = UMLAUTS.replace(b"\n", b"\r\n") + DONE
    scripts = [[SSE_HEAD, chunk(stream[:at]), chunk(stream[at:]) + b"0\r\n\r\n"]
               for at in range(1, len(stream))]
    router = world.router(world.upstream(*scripts))
    with Client(router.port) as client:
        for _ in scripts:
            client.send(ask())
            expect_whole(client.reply(), stream)


@case
def complete__chunk_sizes_with_zeros_capitals_and_extensions(world):
    body = FIRST + FINISH + DONE
    size = b"%04X;name=\"value\"\r\n" % len(body)
    expect_whole(world.answer([SSE_HEAD + size + body + b"\r\n000\r\n\r\n"], ask()), body)


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
    expect_whole(world.answer(script, ask()), CHAT_STREAM)


@cases({"complete__http_1_1_delimited_by_close": (OPEN_SSE_HEAD,),
        "complete__http_1_0_delimited_by_close": (head("200 OK", SSE, version="HTTP/1.0"),)})
def delimited_by_close(world, its_head):
    expect_whole(world.answer([its_head + FIRST, SECOND, FINISH, DONE, CLOSE], ask()), CHAT_STREAM)


@case
def complete__reset_after_done_is_still_complete(world):
    reply = world.answer([SSE_HEAD, chunk(CHAT_STREAM), RESET], ask())
    equal(reply.status, 200, "status")
    equal(reply.body, CHAT_STREAM, "body")


@cases({"complete__100_continue_first": (head("100 Continue"),),
        "complete__103_early_hints_first": (head("103 Early Hints", "Link: </a>; rel=preload"),),
        "complete__several_1xx_first": (head("100 Continue") + head("102 Processing") + head("103 Early Hints"),)})
def interim_answers(world, interim):
    expect_whole(world.answer([interim, in_chunks(CHAT_STREAM)], ask()), CHAT_STREAM)


@cases({"complete__messages": (MESSAGES, MESSAGE_START + MESSAGE_DELTA + MESSAGE_STOP),
        "complete__messages_engine_error_event": (
            MESSAGES, MESSAGE_START + event({"type": "error", "error": {"type": "overloaded_error",
                                                                        "message": "full"}}, "error")),
        "complete__responses_completed": (RESPONSES, RESPONSE_CREATED + RESPONSE_DELTA + response_end("completed")),
        "complete__responses_incomplete": (RESPONSES, RESPONSE_CREATED + response_end("incomplete")),
        "complete__responses_failed": (RESPONSES, RESPONSE_CREATED + response_end("failed")),
        "complete__completions": (COMPLETIONS, TEXT_FIRST + DONE)})
def other_endpoints(world, path, stream):
    expect_whole(world.answer([in_chunks(stream)], ask(path)), stream)


@case
def events_leave_as_they_arrive(world):
    """The second event is sent only after the client has the first."""
    has_first = threading.Event()
    script = [SSE_HEAD, chunk(FIRST), WAIT(has_first), chunked(SECOND, FINISH, DONE)]
    router = world.router(world.upstream(script))
    with Client(router.port, ask()) as client:
        client.so_far(FIRST)
        until(lambda: router.books()["in_flight"] == 1, "one request in flight")
        has_first.set()
        reply = client.reply()
        expect_whole(reply, CHAT_STREAM)
        equal(reply.header("cache-control"), "no-cache", "Cache-Control")
        equal(reply.header("x-accel-buffering"), "no", "X-Accel-Buffering")


# --- Broken after the first event: an error event, no true end ----------------------------------------------

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


@case
def all_breaks_on_one_router_leave_no_descriptor(world):
    upstream = world.upstream([in_chunks(CHAT_STREAM)])
    router = world.router(upstream, flags=BREAKER_OFF)
    scripts = [[SSE_HEAD, chunk(FIRST), *steps] for steps in BREAKS.values()]
    kit.leaves_no_descriptor(router, upstream, scripts, ask())


if __name__ == "__main__":
    kit.main()
