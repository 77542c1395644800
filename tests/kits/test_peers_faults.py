#!/usr/bin/env python3
"""Peers that refuse, fail, die and are full, forged marks, forwards that must not go on: over sockets, with engines
that do what their scripts say. The letters are those of the scenarios that tests/peers/README.md lists."""
import json
import os
import pathlib
import shutil
import threading

from support import kit, wire
from support.kit import case, cases, equal, until
from support.peers import SAME, SPARK, THOR, books_are_empty, boxes, chat, lobes_gateway, scripted
from support.streams import FIRST, SSE_HEAD, expect_broken, in_chunks
from support.upstream import RESET, WAIT, json_answer
from support.wire import Client, chunk

WHOLE = {"id": "r1", "object": "chat.completion", "model": "m",
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "one two"}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
NO = {"error": {"message": "no", "type": "server_error", "param": None, "code": None}}
BUSY = json_answer(NO, "429 Too Many Requests")
BROKEN = json_answer(NO, "503 Service Unavailable")
GOOD = json_answer(WHOLE)
FAST = ("--retry-backoff", "1ms", "--breaker-faults", 0)


def trio(world, left, right, flags=()):
    """A box without an engine in front of two whose engines follow scripts."""
    engines = [scripted(world, script) for script in (left, right)]
    return engines, boxes(world, None, *engines, flags=(*FAST, *flags))


@cases({"r1_a_peer_that_refuses": ([BROKEN],), "r1_a_peer_that_closes": ([RESET],),
        "r4_a_peer_that_says_429_while_another_is_idle": ([BUSY],)})
def tried_elsewhere(world, refusal):
    """One of the two peers refuses whatever it gets; whichever the request is sent to first, it is answered."""
    engines, fleet = trio(world, refusal, [GOOD])
    attempts = []
    for _ in range(6):
        with Client(fleet[0].router.port, chat()) as client:
            reply = client.reply()
        equal((reply.status, reply.json()), (200, WHOLE), "answer")
        equal(reply.header("x-evenkeel-worker"), fleet[2].name, "who answered")
        attempts.append(reply.header("x-evenkeel-attempt"))
        if engines[0].requests():
            break
    equal(attempts[-1], "2", f"attempts ({attempts})")
    equal(len(engines[0].requests()), 1, "times that the one that refuses was asked for it")
    books_are_empty(fleet)


@case
def r2_all_refuse_and_every_attempt_is_told(world):
    engines, fleet = trio(world, [BROKEN], [RESET])
    with Client(fleet[0].router.port, chat()) as client:
        reply = client.reply()
    equal((reply.status, reply.complete), (503, True), "status, and whole")
    error = reply.json()["error"]
    equal(error["code"], "backend_unavailable", "code")
    equal(sorted(attempt["worker"] for attempt in error["attempts"]), sorted(box.name for box in fleet[1:]), "attempts")
    assert all(attempt["status"] in (0, 502, 503) and attempt["fault"] for attempt in error["attempts"]), error
    assert int(reply.header("retry-after")) >= 1, reply.headers
    equal([len(engine.requests()) for engine in engines], [1, 1], "requests at each engine")
    books_are_empty(fleet)


@cases({"r3_the_engine_of_the_peer": (False,), "r3_the_peer_itself": (True,)})
def dies_in_its_answer(world, router_dies):
    """After ten tokens: an error event, no true end, nothing is played again, the slot is free."""
    killed = threading.Event()
    pieces = [chunk(FIRST)] * 10
    engine = scripted(world, [SSE_HEAD, *pieces, WAIT(killed), RESET])
    fleet = boxes(world, None, engine, flags=FAST)
    with Client(fleet[0].router.port, chat(stream=True)) as client:
        client.so_far(FIRST * 10)
        if router_dies:
            fleet[1].router.process.kill()
            fleet[1].router.process.wait()
            world.routers.remove(fleet[1].router)
        killed.set()
        expect_broken(client.reply(), intact=FIRST * 10)
    equal(len(engine.requests()), 1, "requests at the engine")
    books_are_empty(fleet[:1] if router_dies else fleet)


@case
def an_error_event_of_a_peer_passes_once_and_as_it_came(world):
    said = b'data: {"error": {"message": "no more", "type": "server_error", "param": null, "code": null}}\n\n'
    fleet = boxes(world, None, scripted(world, [in_chunks(FIRST, said)]), flags=FAST)
    with Client(fleet[0].router.port, chat(stream=True)) as client:
        reply = client.reply()
    equal((reply.status, reply.body), (200, FIRST + said), "what the client got")
    books_are_empty(fleet)


def hop(*lines):
    return chat("X-Evenkeel-Hop: other", *lines)


@case
def r5_what_was_forwarded_is_served_here_or_not_at_all(world):
    engine = scripted(world, [GOOD])
    fleet = boxes(world, None, engine)
    with Client(fleet[1].router.port, hop()) as client:
        reply = client.reply()
    equal((reply.status, reply.json()), (200, WHOLE), "at a box with an engine of its own")
    equal(reply.header("x-evenkeel-route-reason"), "sole-ready", "reason")
    load = dict(part.split("=") for part in reply.header("x-evenkeel-load").split(";"))
    equal((load["active"], load["yours"], load["slots"]), ("1", "1", "2"), f"load told with the answer ({load})")
    got = engine.requests()[0]
    equal([name for name, _ in got.headers if name.startswith(("x-evenkeel", "x-lobes"))], [], "marks at the engine")
    connections = engine.connections
    with Client(fleet[0].router.port, hop()) as client:
        reply = client.reply()
    equal((reply.status, reply.complete), (508, True), "at a box without one")
    error = reply.json()["error"]
    equal((error["code"], error["hops"][-1]), ("proxy_loop", "box-0"), "error")
    equal(len(error["hops"]), 2, f"hops ({error})")
    equal((len(engine.requests()), engine.connections), (1, connections), "requests and connections at the engine")
    books_are_empty(fleet)


@case
def what_finds_no_slot_goes_back_and_what_was_sent_ahead_waits(world):
    go_on = threading.Event()
    engine = scripted(world, [WAIT(go_on), GOOD])
    fleet = boxes(world, None, engine)
    at = fleet[1].router.port
    running = [Client(at, hop()) for _ in range(2)]
    until(lambda: len(engine.requests()) == 2, "both slots are taken")
    with Client(at, hop()) as client:
        reply = client.reply()
    equal((reply.status, reply.header("x-evenkeel-sent-back"), reply.header("x-evenkeel-refusal")), (503, "1", "no_slot"),
          "a third")
    equal(reply.header("x-evenkeel-load").split(";")[2:5], ["active=2", "yours=2", "slots=2"], "load told with it")
    ahead = [Client(at, hop("X-Evenkeel-Ahead: 1")) for _ in range(2)]
    until(lambda: fleet[1].waiting() == 2, "two that were sent ahead wait")
    with Client(at, hop("X-Evenkeel-Ahead: 1")) as client:
        equal(client.reply().header("x-evenkeel-sent-back"), "1", "a third that was sent ahead: there are two slots")
    go_on.set()
    equal([client.reply().status for client in (*running, *ahead)], [200] * 4, "statuses")
    for client in (*running, *ahead):
        client.close()
    equal(len(engine.requests()), 4, "requests at the engine")
    books_are_empty(fleet)


@case
def a_box_that_takes_nothing_on_sends_back_what_comes_to_it(world):
    trees = pathlib.Path(__file__).resolve().parents[1] / "data" / "pressure"
    root = world.folder / "root"
    shutil.copytree(trees / "healthy", root)
    go_on = threading.Event()
    engines = [scripted(world, [WAIT(go_on), GOOD]), scripted(world, [GOOD])]
    sheds = ("--pressure", "shed", "--pressure-evidence", "swap", "--pressure-root", root, "--pressure-interval", "100ms")
    fleet = boxes(world, *engines, each=((), sheds))
    held = [Client(fleet[0].router.port, hop()) for _ in range(2)]  # so that only the peer has slots
    until(lambda: len(engines[0].requests()) == 2, "both slots are taken")
    shutil.copytree(trees / "swap-90-quiet", root, dirs_exist_ok=True)
    until(lambda: json.loads(fleet[1].router.admin("/pressure"))["sheds"], "the peer sheds")
    waits = Client(fleet[0].router.port, chat())
    with Client(fleet[1].router.port, hop()) as client:
        reply = client.reply()
    equal((reply.status, reply.header("x-evenkeel-refusal"), reply.header("x-evenkeel-sent-back")), (429, "pressure", "1"),
          "what was forwarded to it")
    until(lambda: fleet[0].waiting() == 1, "the client's request waits where it came to")
    go_on.set()
    for client in (*held, waits):
        reply = client.reply()
        equal((reply.status, reply.header("x-evenkeel-attempt")), (200, "1"), "answer, and attempts")
        client.close()
    equal([len(engine.requests()) for engine in engines], [3, 0], "requests at each engine")
    books_are_empty(fleet)


@case
def r6_a_forged_mark_counts_for_nothing(world):
    """With a key that peers must show, the mark of a client from the same address is none."""
    os.environ["KIT_PEER_KEY"] = "secret"
    go_on = threading.Event()
    engines = [scripted(world, [WAIT(go_on), GOOD]), scripted(world, [GOOD])]
    fleet = boxes(world, *engines, key_env="KIT_PEER_KEY")
    held = [Client(fleet[0].router.port, hop("X-Lobes-Proxied: primary", "Authorization: Bearer guess"))
            for _ in range(3)]
    until(lambda: len(engines[0].requests()) + len(engines[1].requests()) >= 3, "all three have gone to an engine")
    go_on.set()
    replies = [client.reply() for client in held]
    equal([reply.status for reply in replies], [200] * 3, "statuses")
    assert any(reply.header("x-evenkeel-worker") == fleet[1].name for reply in replies), "none was forwarded"
    for reply in replies:
        equal([name for name, _ in reply.headers if name in ("x-evenkeel-load", "x-evenkeel-sent-back")], [], "fields")
    for exchange in engines[0].requests() + engines[1].requests():
        equal([name for name, _ in exchange.headers if name.startswith(("x-evenkeel", "x-lobes"))], [], "at the engine")
        equal(exchange.header("authorization"), None, "the client's or the peer's key at the engine")
    with Client(fleet[0].router.port, hop("Authorization: Bearer secret")) as client:
        reply = client.reply()
    equal((reply.header("x-evenkeel-route-reason"), reply.header("x-evenkeel-load") is not None), ("sole-ready", True),
          "the same mark with the key")
    for client in held:
        client.close()
    books_are_empty(fleet)


@case
def a_lobes_gateway_is_spoken_to_in_its_own_words(world):
    gateway = lobes_gateway(world, [json_answer(WHOLE, "200 OK", "X-Lobes-Served-By: there", "X-Lobes-Route-Reason: none",
                                                "X-Lobes-Mesh-Member: there", "X-Other: kept")])
    (box,) = boxes(world, None, lobes=gateway, models=SAME.replace("\nruntime", '\naliases = ["cortex"]\nruntime'))
    with Client(box.router.port, chat("Authorization: Bearer mine", "X-Lobes-Affinity: me", "X-Lobes-Override: true",
                                      model="cortex")) as client:
        reply = client.reply()
    equal((reply.status, reply.json(), reply.header("x-other")), (200, WHOLE, "kept"), "answer")
    equal([name for name, _ in reply.headers if name.startswith("x-lobes")], [], "its placement")
    equal((reply.header("x-evenkeel-worker"), reply.header("x-evenkeel-route-reason")), ("gateway", "sole-ready"), "ours")
    (asked,) = gateway.requests()
    equal({name: value for name, value in asked.headers if name.startswith(("x-lobes", "x-evenkeel", "auth"))},
          {"x-lobes-proxied": "primary", "x-lobes-affinity": "me"}, "marks at the gateway")
    assert b'"model":"m"' in asked.body.replace(b" ", b""), asked.body
    books_are_empty([box])


@case
def what_a_lobes_gateway_forwards_waits_here_and_is_answered_in_its_words(world):
    go_on = threading.Event()
    engine = scripted(world, [WAIT(go_on), GOOD])
    (box,) = boxes(world, engine, lobes=lobes_gateway(world, [RESET]))
    clients = [Client(box.router.port, chat("X-Lobes-Proxied: primary")) for _ in range(3)]
    until(lambda: (len(engine.requests()), box.waiting()) == (2, 1), "two are in service, one waits")
    go_on.set()
    for client in clients:
        reply = client.reply()
        equal((reply.status, reply.header("x-lobes-served-by"), reply.header("x-lobes-route-reason")),
              (200, "box-0", "sole-ready"), "answer")
        equal((reply.header("x-evenkeel-load"), reply.header("x-lobes-route-load")), (None, None), "loads")
        client.close()
    equal([name for exchange in engine.requests() for name, _ in exchange.headers if name.startswith("x-lobes")], [],
          "marks at the engine")
    books_are_empty([box])


@case
def r11_a_peer_that_is_stopped_under_load_costs_nobody_an_answer(world):
    fleet = boxes(world, THOR, SPARK, scale=20, flags=FAST)
    replies, lock = [], threading.Lock()

    def ask():
        for _ in range(4):
            with Client(fleet[0].router.port, chat()) as client:
                reply = client.reply()
            with lock:
                replies.append(reply)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    until(lambda: fleet[1].received() >= 8, "the peer serves")
    fleet[1].router.process.kill()
    fleet[1].router.process.wait()
    world.routers.remove(fleet[1].router)
    for thread in threads:
        thread.join()
    equal([reply.status for reply in replies], [200] * 64, "statuses")
    books_are_empty(fleet[:1])


@case
def a_body_names_its_model_before_it_goes_to_a_peer(world):
    engine = scripted(world, [GOOD])
    fleet = boxes(world, None, engine)
    for body, expected in ((b'{"messages": []}', b'{"messages": [],"model":"m"}'),
                           (b'{"model": null, "messages": [] }\n', b'{"model": null, "messages": [] ,"model":"m"}\n'),
                           (b'{"messages": [], "model": "m"}', b'{"messages": [], "model": "m"}')):
        with Client(fleet[0].router.port, wire.request("/v1/chat/completions", body)) as client:
            equal(client.reply().status, 200, "status")
        equal(engine.requests()[-1].body, expected, "body at the engine")
    books_are_empty(fleet)


if __name__ == "__main__":
    kit.main()
