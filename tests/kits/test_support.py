"""The kits' own tools, tried without a router: the raw client speaks straight to the scripted upstream."""
import threading

from support import kit, wire
from support.kit import case, equal, until
from support.streams import (CHAT, CHAT_STREAM, FIRST, SSE_HEAD, ask, event, expect_broken, expect_whole,
                             in_chunks)
from support.upstream import (BYTE_BY_BYTE, CLOSE, RESET, UNTIL_PEER_CLOSES, WAIT, json_answer, unread_bytes)
from support.wire import Client, chunk, chunked, head


def fails(function, *arguments):
    try:
        function(*arguments)
    except AssertionError:
        return True
    return False


@case
def whole_stream_is_recognised_and_the_connection_goes_on(world):
    upstream = world.upstream([BYTE_BY_BYTE(in_chunks(CHAT_STREAM))], [json_answer(b"{}")])
    with Client(upstream.port, ask()) as client:
        expect_whole(client.reply(), CHAT_STREAM)
        client.send(ask(stream=False))
        equal(client.reply().json(), {}, "second answer on the same connection")
    equal(upstream.connections, 1, "connections")


@case
def whole_stream_is_no_broken_one(world):
    upstream = world.upstream([in_chunks(CHAT_STREAM)])
    with Client(upstream.port, ask()) as client:
        assert fails(expect_broken, client.reply(), CHAT, FIRST)


@case
def broken_stream_without_error_event_is_refused(world):
    upstream = world.upstream([SSE_HEAD, chunk(FIRST), CLOSE])
    with Client(upstream.port, ask()) as client:
        reply = client.reply()
    assert fails(expect_whole, reply, FIRST) and fails(expect_broken, reply, CHAT, FIRST)


@case
def broken_stream_with_error_event_is_accepted(world):
    error = event({"error": {"message": "gone", "type": "x", "param": None, "code": None}})
    upstream = world.upstream([SSE_HEAD, chunk(FIRST), chunk(b"data: {\n\n" + error), CLOSE],
                              [SSE_HEAD, chunk(FIRST), chunk(error) + b"0\r\n\r\n"])
    with Client(upstream.port, ask()) as client:
        expect_broken(client.reply(), CHAT, FIRST)
    with Client(upstream.port, ask()) as client:
        assert fails(expect_broken, client.reply(), CHAT, FIRST)


@case
def reset_and_fin_are_told_apart(world):
    upstream = world.upstream([head("200 OK"), RESET], [head("200 OK"), CLOSE])
    for ended, complete in (("reset", False), ("fin", True)):
        with Client(upstream.port, ask()) as client:
            reply = client.reply()
            equal((reply.ended, reply.complete), (ended, complete), "end of the connection")


@case
def gate_holds_the_script_back(world):
    gate = threading.Event()
    upstream = world.upstream([SSE_HEAD, chunk(FIRST), WAIT(gate), b"0\r\n\r\n"])
    with Client(upstream.port, ask()) as client:
        client.so_far(FIRST)
        assert not wire.Reply(client.raw, client.ended).complete
        gate.set()
        assert client.reply().complete


@case
def client_close_is_seen(world):
    upstream = world.upstream([UNTIL_PEER_CLOSES])
    client = Client(upstream.port, ask())
    assert upstream.waiting_for_close.wait(10) and not upstream.saw_close.is_set()
    client.reset()
    assert upstream.saw_close.wait(10)


@case
def unread_bytes_are_counted_until_read(world):
    upstream = world.upstream([lambda exchange: exchange.sock.sendall(b"12345"), UNTIL_PEER_CLOSES])
    with Client(upstream.port, ask()) as client:
        port = client.sock.getsockname()[1]
        until(lambda: unread_bytes(port, upstream.port) == 5, "five bytes wait")
        client.sock.recv(5)
        equal(unread_bytes(port, upstream.port), 0, "unread bytes")


@case
def chunked_requests_trailers_and_interim_answers_are_parsed(world):
    script = [head("100 Continue"), head("200 OK", "Transfer-Encoding: chunked"),
              chunk(b"ab") + b"0\r\nX-T: 1\r\n\r\n"]
    upstream = world.upstream(script)
    request = wire.request("/v1/x", chunked(b"a", b"bc"), "Transfer-Encoding: chunked")
    with Client(upstream.port, request) as client:
        reply = client.reply()
    equal((reply.interim, reply.body, reply.complete), ([100], b"ab", True), "answer")
    equal(upstream.requests()[0].body, b"abc", "request body")


@case
def probes_leave_the_script_alone(world):
    upstream = world.upstream([json_answer(b"{}")], models=("a", "b"))
    with Client(upstream.port) as client:
        client.send(wire.request("/v1/models", method="GET"))
        equal([model["id"] for model in client.reply().json()["data"]], ["a", "b"], "models")
        client.send(wire.request("/metrics", method="GET"))
        equal(client.reply().status, 404, "metrics")
    equal(upstream.requests(), [], "requests")


@case
def early_answer_comes_before_the_body(world):
    upstream = world.upstream([json_answer(b"{}", "413 Content Too Large"), CLOSE], reads_bodies=False)
    with Client(upstream.port) as client:
        client.offer(ask(prompt="x" * 500000))
        equal(client.reply().status, 413, "status")


if __name__ == "__main__":
    kit.main()
