"""Clients that break the rules, smuggle, or say half of it: a definite answer each, and no trace."""
import json
import os
import re
import threading

from support import kit, wire
from support.kit import case, cases, equal, until
from support.router import MAX_BODY_BYTES, REQUEST_BODY_TIMEOUT, REQUEST_HEAD_TIMEOUT
from support.streams import COMPLETIONS, expect_refusal
from support.upstream import json_answer
from support.wire import Client, chunked

ANSWER = json.dumps({"id": "cmpl-1", "object": "text_completion", "model": "m",
                     "choices": [{"index": 0, "text": "one", "finish_reason": "stop"}],
                     "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
BODY = b'{"model":"m","prompt":"hello"}'
LENGTH = f"Content-Length: {len(BODY)}"


def plain_pair(world, *flags):
    upstream = world.upstream([json_answer(ANSWER)])
    return upstream, world.router(upstream, flags=flags)


def post(body, *lines, path=COMPLETIONS):
    return wire.request(path, body, *lines)


def still_serves(router):
    with Client(router.port, post(BODY)) as client:
        reply = client.reply()
        equal((reply.status, reply.body), (200, ANSWER), "a good request afterwards")


def refused_and_closed(router, upstream, data, *statuses):
    """The one answer, then the end of the connection: after a framing fault nothing on it can be trusted."""
    with Client(router.port) as client:
        client.offer(data)
        reply = client.reply()
        assert reply.status in statuses, f"status {reply.status}, expected one of {statuses}: {reply.rest!r}"
        assert reply.complete, f"the refusal is cut: {reply.body!r}"
        equal(client.until_closed(), b"", "bytes after the refusal")
    equal(upstream.requests(), [], "requests that reached the upstream")
    still_serves(router)


# --- Not HTTP, or HTTP that could be read in two ways -------------------------------------------------------

SMUGGLED = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


def raw(*lines, body=BODY, end="\r\n"):
    return (end.join([f"POST {COMPLETIONS} HTTP/1.1", *lines, "", ""])).encode("latin-1") + body


FRAMING = {
    "garbage": (b"\x00\xff\x13\x37 nothing of this is HTTP\r\n\r\n", 400),
    "tls_hello": (bytes.fromhex("16030100c8010000c40303") + b"\0" * 200, 400),
    "http_2_preface": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, 505),
    "unknown_http_version": (raw("Host: x", LENGTH).replace(b"HTTP/1.1", b"HTTP/7.3"), 400, 505),
    "no_version": (b"POST /v1/completions\r\nHost: x\r\n\r\n", 400, 505),
    "bare_lf_for_line_ends": (raw("Host: x", LENGTH, end="\n"), 400),
    "one_bare_lf": (raw("Host: x\nX-A: b", LENGTH), 400),
    "bare_cr_in_a_header": (raw("Host: x", "X-A: b\rX-B: c", LENGTH), 400),
    "nul_in_a_header": (raw("Host: x", "X-A: b\0c", LENGTH), 400),
    "folded_header": (raw("Host: x", "X-A: b", "  c", LENGTH), 400),
    "space_before_the_colon": (raw("Host: x", f"Content-Length : {len(BODY)}"), 400),
    "header_without_a_colon": (raw("Host: x", "nothing", LENGTH), 400),
    "no_host": (raw(LENGTH), 400),
    "two_hosts": (raw("Host: x", "Host: y", LENGTH), 400),
    "content_length_and_chunked": (raw("Host: x", "Content-Length: 4", "Transfer-Encoding: chunked",
                                       body=b"0\r\n\r\n" + SMUGGLED), 400),
    "two_content_lengths": (raw("Host: x", LENGTH, "Content-Length: 3"), 400),
    "list_of_content_lengths": (raw("Host: x", f"Content-Length: {len(BODY)}, 3"), 400),
    "negative_content_length": (raw("Host: x", "Content-Length: -1"), 400),
    "signed_content_length": (raw("Host: x", f"Content-Length: +{len(BODY)}"), 400),
    "content_length_is_no_number": (raw("Host: x", "Content-Length: 0x1e"), 400),
    "content_length_overflows": (raw("Host: x", "Content-Length: 18446744073709551617"), 400, 413),
    "chunked_is_not_last": (raw("Host: x", "Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"), 400, 501),
    "transfer_encoding_unknown": (raw("Host: x", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n"), 400, 501),
    "transfer_encoding_twice": (raw("Host: x", "Transfer-Encoding: chunked", "Transfer-Encoding: identity",
                                    body=b"0\r\n\r\n"), 400, 501),
}


@cases({f"framing__{name}": arguments for name, arguments in FRAMING.items()})
def framing(world, data, *statuses):
    upstream, router = plain_pair(world)
    refused_and_closed(router, upstream, data, *statuses)


CHUNKS = {
    "size_with_0x": b"0x1e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size_overflows": b"1000000000000001e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size_negative": b"-1e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size_empty": b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size_after_a_space": b" 1e\r\n" + BODY + b"\r\n0\r\n\r\n",
    "size_ended_by_bare_lf": b"1e\n" + BODY + b"\r\n0\r\n\r\n",
    "data_longer_than_its_size": b"1c\r\n" + BODY + b"\r\n0\r\n\r\n",
    "data_without_line_end": b"1e\r\n" + BODY + b"0\r\n\r\n",
}


@cases({f"chunk__{name}": (body,) for name, body in CHUNKS.items()})
def chunk_tricks(world, body):
    upstream, router = plain_pair(world)
    data = raw("Host: x", "Transfer-Encoding: chunked", body=body)
    refused_and_closed(router, upstream, data, 400)


@case
def chunk__extension_without_end(world):
    """An extension is allowed; one that never ends must not be buffered for ever."""
    upstream, router = plain_pair(world)
    with Client(router.port) as client:
        client.offer(raw("Host: x", "Transfer-Encoding: chunked", body=b"1e;x=" + b"y" * (8 << 20)))
        assert client.reply().status in (400, 413, 431)
    equal(upstream.requests(), [], "requests that reached the upstream")
    still_serves(router)


# --- Too much -----------------------------------------------------------------------------------------------

HUGE = {
    "one_header_of_1_mib": (raw("Host: x", "X-Huge: " + "h" * (1 << 20), LENGTH), 431),
    "twenty_thousand_headers": (raw("Host: x", *["X-H: 1"] * 20000, LENGTH), 431),
    "target_of_1_mib": (b"GET /" + b"p" * (1 << 20) + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, 431),
    "method_without_end": (b"G" * (1 << 20), 400, 431),
}


@cases({f"oversized__{name}": arguments for name, arguments in HUGE.items()})
def oversized_head(world, data, *statuses):
    upstream, router = plain_pair(world)
    refused_and_closed(router, upstream, data, *statuses)


@cases({"oversized__body_by_its_length": (post(b"x" * 70000),),
        "oversized__length_alone_is_enough": (raw("Host: x", "Content-Length: 70000", body=b""),),
        "oversized__chunked_body": (wire.request(COMPLETIONS, chunked(*[b"x" * 7000] * 10), "Transfer-Encoding: chunked"),)})
def oversized_body(world, data):
    upstream, router = plain_pair(world, MAX_BODY_BYTES, 65536)
    with Client(router.port) as client:
        client.offer(data)
        expect_refusal(client.reply(), 413)
    equal(upstream.requests(), [], "requests that reached the upstream")
    still_serves(router)


# --- Half of it ---------------------------------------------------------------------------------------------

WHOLE = post(BODY)
HALVES = {"nothing_at_all": b"", "half_a_method": WHOLE[:2], "half_a_head": WHOLE[:40],
          "head_without_its_last_byte": WHOLE.partition(b"{")[0][:-1], "head_alone": WHOLE.partition(b"{")[0],
          "body_without_its_last_byte": WHOLE[:-1],
          "chunk_without_its_end": raw("Host: x", "Transfer-Encoding: chunked", body=b"1e\r\n" + BODY)}


@cases({f"half__{name}": (data,) for name, data in HALVES.items()})
def half_a_request(world, data):
    """Closed by FIN, by RST and by half-close: nothing goes upstream, nothing is left behind."""
    upstream, router = plain_pair(world)
    still_serves(router)
    before = router.descriptors()
    for leave in (Client.close, Client.reset, Client.half_close):
        clients = [Client(router.port, data) for _ in range(10)]
        for client in clients:
            leave(client)
        for client in clients:
            if leave is Client.half_close:
                client.until_closed()
                client.close()
    until(lambda: router.descriptors() <= before, "the descriptors of ten clients of each kind are back")
    equal(len(upstream.requests()), 1, "requests that reached the upstream")
    still_serves(router)


@cases({"slow__head_times_out": (WHOLE[:40], REQUEST_HEAD_TIMEOUT),
        "slow__body_times_out": (WHOLE[:-1], REQUEST_BODY_TIMEOUT)})
def slow_loris(world, data, timeout):
    upstream, router = plain_pair(world, timeout, "0.3")
    for client in [Client(router.port, data) for _ in range(20)]:
        with client:
            reply = client.reply()
            assert reply.status in (None, 408), f"status {reply.status}"
            client.until_closed()
    equal(upstream.requests(), [], "requests that reached the upstream")
    still_serves(router)


@case
def slow__request_byte_by_byte_arrives_whole(world):
    upstream, router = plain_pair(world)
    with Client(router.port) as client:
        for at in range(len(WHOLE)):
            client.send(WHOLE[at:at + 1])
            kit.until_read(client.sock)
        equal(client.reply().body, ANSWER, "answer")
    equal(upstream.requests()[0].body, BODY, "request body")


# --- Bodies that are no request -----------------------------------------------------------------------------

REFUSED_BODIES = {
    "empty": (b"", 400), "no_json": (b"model=m", 400), "cut_json": (BODY[:-1], 400),
    "json_with_a_tail": (BODY + b"]", 400), "array": (b'["m"]', 400), "string": (b'"m"', 400),
    "model_is_a_number": (b'{"model":5,"prompt":"x"}', 400),
    "model_is_an_object": (b'{"model":{"model":"m"},"prompt":"x"}', 400),
    "nested_a_hundred_thousand_deep": (b'{"model":"m","prompt":' + b"[" * 100000 + b"]" * 100000 + b"}", 400),
    "unknown_model": (b'{"model":"nope","prompt":"x"}', 404),
    "model_named_twice_the_last_unknown": (b'{"model":"m","prompt":"x","model":"nope"}', 404),
    "model_only_inside_something_else": (b'{"x":{"model":"m"},"model":"nope","prompt":"x"}', 404),
    "stream_is_a_string": (b'{"model":"m","prompt":"x","stream":"yes"}', 200, 400),
}


@cases({f"body__{name}": arguments for name, arguments in REFUSED_BODIES.items()})
def body_refused(world, body, *statuses):
    """The connection stays usable: the framing was in order."""
    upstream, router = plain_pair(world)
    with Client(router.port, post(body)) as client:
        reply = client.reply()
        assert reply.status in statuses, f"status {reply.status}: {reply.body!r}"
        if reply.status != 200:
            error = expect_refusal(reply, *statuses)
            equal(upstream.requests(), [], "requests that reached the upstream")
        if reply.status == 404:
            assert re.search(r"\bm\b", error["message"]), f"does not name what is served: {error['message']}"
            equal(error["code"], "model_not_found", "code")
        client.send(post(BODY))
        equal(client.reply().body, ANSWER, "next answer on the same connection")


SERVED_BODIES = {
    "model_named_twice_the_last_known": b'{"model":"nope","prompt":"x","model":"m"}',
    "model_key_written_with_an_escape": b'{"model":"nope","prompt":"x","mod\\u0065l":"m"}',
    "model_value_written_with_an_escape": b'{"model":"\\u006d","prompt":"x"}',
    "model_inside_the_messages_does_not_count": b'{"messages":[{"model":"nope"}],"model":"m"}',
    "white_space_everywhere": b' \r\n\t{ "model"\t:\n"m" , "prompt" : "x" }\r\n ',
    "order_and_numbers_as_written": b'{"z":1e2,"a":1.0,"a":1.00,"model":"m","n":1,"big":123456789012345678901234567890}',
}


@cases({f"body__{name}": (body,) for name, body in SERVED_BODIES.items()})
def body_served(world, body):
    upstream, router = plain_pair(world)
    with Client(router.port, post(body)) as client:
        equal(client.reply().body, ANSWER, "answer")
    equal(upstream.requests()[0].body, body, "request body, byte for byte")


STRIPPED = ("kv_transfer_params", "ec_transfer_params", "disaggregated_params", "bootstrap_host", "bootstrap_room",
            "data_parallel_rank", "routed_dp_rank")


@case
def body__transfer_fields_of_a_client_are_removed(world):
    """They can fetch another user's answer or crash an engine. Everything else stays as written."""
    fields = b"".join(b'"%b": {"a":[1,"}"]} ,' % name.encode() for name in STRIPPED)
    upstream, router = plain_pair(world)
    with Client(router.port, post(b"{ " + fields + b' "model":"m", "x" : "kv_transfer_params"}',
                                  "X-Data-Parallel-Rank: 1")) as client:
        equal(client.reply().status, 200, "status")
    (seen,) = upstream.requests()
    document = json.loads(seen.body)
    equal(document, {"model": "m", "x": "kv_transfer_params"}, "what is left of the body")
    equal(seen.header("x-data-parallel-rank"), None, "X-Data-Parallel-Rank upstream")


@case
def body__encoded_is_415_where_the_model_must_be_read(world):
    upstream = world.upstream([json_answer(ANSWER)], models=("m", "other"))
    router = world.router(upstream)
    with Client(router.port, post(BODY, "Content-Encoding: gzip")) as client:
        expect_refusal(client.reply(), 415)
    equal(upstream.requests(), [], "requests that reached the upstream")


@case
def body__encoded_passes_where_there_is_one_model(world):
    upstream, router = plain_pair(world)
    with Client(router.port, post(b"not json at all", "Content-Encoding: gzip")) as client:
        equal(client.reply().status, 200, "status")
    equal(upstream.requests()[0].body, b"not json at all", "body at the upstream")


@cases({"body__model_is_null_last": (b'{"model":"m","model":null,"prompt":"x"}',),
        "body__model_name_is_empty": (b'{"model":"","prompt":"x"}',), "body__model_is_absent": (b'{"prompt":"x"}',)})
def body_without_model(world, body):
    """Engines take it for their only model; with more than one there is none to take it for."""
    upstream, router = plain_pair(world)
    with Client(router.port, post(body)) as client:
        equal(client.reply().status, 200, "status")
    equal(upstream.requests()[0].body, body, "body at the upstream")
    two = world.router(world.upstream([json_answer(ANSWER)], models=("m", "other")))
    with Client(two.port, post(body)) as client:
        expect_refusal(client.reply(), 404)


@case
def body__chunked_arrives_intact(world):
    """Also with extensions, trailers and every chunk another size."""
    body = json.dumps({"model": "m", "prompt": os.urandom(50000).hex()}).encode()
    pieces, at = [], 0
    while at < len(body):
        size = 1 + len(pieces) % 997
        pieces.append(b"%x;ext=1\r\n%b\r\n" % (len(body[at:at + size]), body[at:at + size]))
        at += size
    upstream, router = plain_pair(world)
    with Client(router.port) as client:
        for end in (b"0\r\n\r\n", b"0;last\r\nX-Trailer: 1\r\n\r\n"):
            client.send(raw("Host: x", "Transfer-Encoding: chunked", body=b"".join(pieces) + end))
            equal(client.reply().body, ANSWER, "answer")
    for seen in upstream.requests():
        equal(seen.body, body, "request body")


@case
def body__of_several_mib_is_streamed_up_intact(world):
    body = json.dumps({"model": "m", "prompt": os.urandom(2_500_000).hex()}).encode()
    upstream, router = plain_pair(world)
    sender = Client(router.port)
    thread = threading.Thread(target=sender.offer, args=(post(body),))
    thread.start()
    with sender:
        equal(sender.reply().body, ANSWER, "answer")
        thread.join()
    assert upstream.requests()[0].body == body, "the body changed on its way"


if __name__ == "__main__":
    kit.main()
