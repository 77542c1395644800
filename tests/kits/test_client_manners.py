"""What a well-behaved HTTP client may ask of the router, and clients that leave before the end."""
import json
import threading

from support import kit, wire
from support.kit import case, cases, equal, until
from support.router import MAX_IN_FLIGHT
from support.streams import (CHAT, CHAT_STREAM, COMPLETIONS, FIRST, SSE_HEAD, ask, expect_refusal, expect_whole,
                             in_chunks)
from support.upstream import UNTIL_PEER_CLOSES, WAIT, json_answer
from support.wire import Client, chunk


def numbered(count):
    return [json.dumps({"number": number}).encode() for number in range(count)]


def numbered_pair(world, count=3):
    bodies = numbered(count)
    upstream = world.upstream(*[[json_answer(body)] for body in bodies])
    return upstream, world.router(upstream), bodies


def get(path, *lines, method="GET"):
    return wire.request(path, b"", *lines, method=method)


@case
def keep_alive_serves_one_after_the_other(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port) as client:
        for body in bodies:
            client.send(ask(stream=False))
            equal(client.reply().body, body, "answer")


@case
def pipelined_requests_are_answered_in_order(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port, ask(stream=False) * 3) as client:
        for body in bodies:
            equal(client.reply().body, body, "answer")


@case
def pipelined_streams_are_answered_in_order(world):
    router = world.router(world.upstream([in_chunks(CHAT_STREAM)]))
    with Client(router.port, ask() * 3 + get("/health")) as client:
        for _ in range(3):
            expect_whole(client.reply(), CHAT_STREAM)
        equal(client.reply().status, 200, "status of /health")


@case
def connection_close_is_honoured(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port, ask(CHAT, "Connection: close", stream=False)) as client:
        reply = client.reply()
        equal((reply.body, reply.header("connection").lower()), (bodies[0], "close"), "answer")
        equal(client.until_closed(), b"", "bytes after the answer")
    equal(upstream.requests()[0].header("connection") in (None, "keep-alive"), True, "Connection upstream")


@case
def http_1_0_gets_a_close(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port, ask(stream=False).replace(b"HTTP/1.1", b"HTTP/1.0", 1)) as client:
        reply = client.reply()
        equal((reply.body, reply.header("transfer-encoding")), (bodies[0], None), "answer")
        client.until_closed()


@case
def expect_100_continue_is_answered_by_the_router(world):
    upstream, router, bodies = numbered_pair(world)
    head, _, body = ask(CHAT, "Expect: 100-continue", stream=False).partition(b"\r\n\r\n")
    with Client(router.port, head + b"\r\n\r\n") as client:
        while b"\r\n\r\n" not in client.raw:
            client._more()
        assert client.raw.startswith(b"HTTP/1.1 100 "), client.raw
        client.send(body)
        reply = client.reply()
        equal((reply.interim, reply.body), ([100], bodies[0]), "answer")
    equal(upstream.requests()[0].header("expect"), None, "Expect upstream")


@case
def expect_of_something_else_is_417(world):
    upstream, router, _ = numbered_pair(world)
    with Client(router.port, ask(CHAT, "Expect: miracles", stream=False)) as client:
        equal(client.reply().status, 417, "status")
    equal(upstream.requests(), [], "requests that reached the upstream")


@case
def upgrade_is_501(world):
    upstream, router, _ = numbered_pair(world)
    lines = "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="
    with Client(router.port, get("/v1/realtime", *lines)) as client:
        expect_refusal(client.reply(), 501)
    equal(upstream.requests(), [], "requests that reached the upstream")


@case
def trailing_slashes_do_not_matter(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port) as client:
        client.send(ask("/v1/chat/completions/", stream=False))
        equal(client.reply().body, bodies[0], "answer")
        client.send(get("/v1/models/"))
        equal([model["id"] for model in client.reply().json()["data"]], ["m"], "models")
    equal(upstream.requests()[0].path, CHAT, "path upstream")


@cases({f"head_of_{path.strip('/').replace('/', '_')}": (path,)
        for path in ("/health", "/ready", "/version", "/v1/models")})
def head_is_get_without_a_body(world, path):
    upstream, router, _ = numbered_pair(world)
    with Client(router.port) as client:
        client.send(get(path))
        whole = client.reply()
        client.send(get(path, method="HEAD"))
        bare = client.reply(to_head=True)
        equal((whole.status, bare.status), (200, 200), "status")
        equal(bare.header("content-type"), whole.header("content-type"), "Content-Type")
        client.send(get("/health"))
        equal(client.reply().status, 200, "next answer on the same connection")


@case
def options_is_answered_for_browsers(world):
    upstream, router, _ = numbered_pair(world)
    lines = ("Origin: http://page.example", "Access-Control-Request-Method: POST",
             "Access-Control-Request-Headers: authorization,content-type,x-stainless-lang")
    with Client(router.port, get(CHAT, *lines, method="OPTIONS")) as client:
        reply = client.reply()
        assert reply.status in (200, 204), reply.status
        assert reply.header("access-control-allow-origin") in ("*", "http://page.example"), reply.headers
        assert "POST" in reply.header("access-control-allow-methods"), reply.headers
        allowed = reply.header("access-control-allow-headers").lower()
        assert allowed == "*" or "x-stainless-lang" in allowed, reply.headers
    equal(upstream.requests(), [], "requests that reached the upstream")


@case
def wrong_method_and_unknown_path_are_told_so(world):
    upstream, router, _ = numbered_pair(world)
    with Client(router.port) as client:
        client.send(get(CHAT))
        expect_refusal(client.reply(), 405)
        client.send(get("/nothing/here"))
        expect_refusal(client.reply(), 404)
    equal(upstream.requests(), [], "requests that reached the upstream")


@case
def request_id_is_kept_or_made(world):
    upstream, router, _ = numbered_pair(world)
    with Client(router.port) as client:
        client.send(ask(CHAT, "X-Request-Id: abc-1", stream=False))
        equal(client.reply().header("x-request-id"), "abc-1", "given id in the answer")
        client.send(ask(stream=False))
        made = client.reply().header("x-request-id")
    equal([seen.header("x-request-id") for seen in upstream.requests()], ["abc-1", made], "ids upstream")
    assert made


@case
def client_credentials_are_not_forwarded(world):
    upstream, router, bodies = numbered_pair(world)
    with Client(router.port, ask(CHAT, "Authorization: Bearer secret", stream=False)) as client:
        equal(client.reply().body, bodies[0], "answer")
    equal(upstream.requests()[0].header("authorization"), None, "Authorization upstream")
    assert "secret" not in router.log()


@case
def receipt_is_on_the_answer(world):
    upstream, router, _ = numbered_pair(world)
    with Client(router.port, ask(stream=False)) as client:
        reply = client.reply()
    for name in ("policy", "reason", "worker", "candidates", "waited-ms", "signal-age-ms", "attempt"):
        assert reply.header(f"x-evenkeel-{name}") is not None, f"no {name} in {reply.headers}"
    equal(reply.header("x-evenkeel-worker"), f"127.0.0.1:{upstream.port}", "worker")


# --- Leaving ------------------------------------------------------------------------------------------------

LEAVE = {"fin": Client.close, "reset": Client.reset, "half_close": Client.half_close}


@cases({f"leaves_by_{how}_before_the_first_byte_{kind}": (leave, stream)
        for how, leave in LEAVE.items() for kind, stream in (("streamed", True), ("plain", False))})
def leaves_while_the_upstream_works(world, leave, stream):
    upstream = world.upstream([UNTIL_PEER_CLOSES])
    router = world.router(upstream)
    client = Client(router.port, ask(stream=stream))
    assert upstream.waiting_for_close.wait(kit.PATIENCE_S), "the request never reached the upstream"
    equal(router.books()["in_flight"], 1, "requests in flight before the client leaves")
    leave(client)
    assert upstream.saw_close.wait(kit.PATIENCE_S), "the upstream connection stayed open"


@cases({f"leaves_by_{how}_in_mid_stream": (leave,) for how, leave in LEAVE.items()})
def leaves_in_mid_stream(world, leave):
    upstream = world.upstream([SSE_HEAD, chunk(FIRST), UNTIL_PEER_CLOSES])
    router = world.router(upstream)
    client = Client(router.port, ask())
    client.so_far(FIRST)
    leave(client)
    assert upstream.saw_close.wait(kit.PATIENCE_S), "the upstream connection stayed open"


@cases({f"leaves_by_{how}_while_waiting_in_the_pool": (leave,) for how, leave in LEAVE.items()})
def leaves_the_waiting_pool(world, leave):
    """The worker's one place is taken, so the second request waits; it must vanish, not run later."""
    release = threading.Event()
    upstream = world.upstream([WAIT(release), json_answer(b'{"number":1}')], [json_answer(b'{"number":2}')])
    router = world.router(upstream, flags=(MAX_IN_FLIGHT, 1))

    def waiting():
        return json.loads(router.admin("/pool"))["waiting"]

    with Client(router.port, ask(stream=False)) as first:
        until(lambda: len(upstream.requests()) == 1, "the first request runs")
        second = Client(router.port, ask(COMPLETIONS, stream=False))
        until(lambda: waiting() == 1, "the second request waits")
        leave(second)
        until(lambda: waiting() == 0, "the pool is empty again")
        release.set()
        equal(first.reply().json(), {"number": 1}, "answer of the first")
    equal(len(upstream.requests()), 1, "requests that reached the upstream")


@case
def leaves_with_the_answer_unread(world):
    """The client takes nothing, so the router must stop reading from the upstream, and then see the reset."""
    flood = chunk(FIRST * 1000)
    stopped = threading.Event()

    def pour(exchange):
        exchange.sock.settimeout(0.5)
        try:
            while True:
                exchange.sock.sendall(flood)
        except TimeoutError:
            stopped.set()
        exchange.sock.settimeout(None)
        exchange.until_peer_closes()

    upstream = world.upstream([SSE_HEAD, pour])
    router = world.router(upstream)
    client = Client(router.port, ask())
    assert stopped.wait(60), "the router reads on although the client takes nothing"
    client.reset()
    assert upstream.saw_close.wait(kit.PATIENCE_S), "the upstream connection stayed open"


@case
def leaves_right_after_done(world):
    """Clients close at [DONE] without reading on: that is a completed request, and the next one is served."""
    hold = threading.Event()
    late_end = [SSE_HEAD, chunk(CHAT_STREAM), WAIT(hold), b"0\r\n\r\n"]
    upstream = world.upstream(late_end, [in_chunks(CHAT_STREAM)])
    router = world.router(upstream)
    with Client(router.port, ask()) as client:
        client.so_far(CHAT_STREAM)
        client.reset()
    hold.set()
    with Client(router.port, ask()) as client:
        expect_whole(client.reply(), CHAT_STREAM)


if __name__ == "__main__":
    kit.main()
