#!/usr/bin/env python3
"""Two boxes, three and five, each a router in front of an emulated engine of a rate table, each the other's peer: where
the requests of a burst go, what waits where, and what is left when clients leave. Counts, order and bytes; rates and
durations are in tests/figures. The letters are those of the scenarios that tests/peers/README.md lists."""
import collections
import threading

from support import kit
from support.kit import case, cases, equal, until
from support.peers import SLOTS, SPARK, THOR, Watch, books_are_empty, boxes, burst, chat, split, warm
from support.streams import expect_refusal
from support.wire import Client

ROLES = ("cortex", "senses", "muse", "worker", "associate", "hand", "embedder", "reranker", "stt", "tts")


@case
def a2_a3_eight_at_once_are_all_served_and_no_engine_has_a_queue(world):
    pair = boxes(world, THOR, SPARK, scale=8, known=True)
    warm(pair)
    with Watch(pair) as watch:
        replies = burst(pair[0], [chat(stream=True)] * 8)  # whose age is known while they run
    equal(split(replies, pair), [2, 6], "split")
    watch.expect_no_queue()
    reasons = collections.Counter(reply.header("x-evenkeel-route-reason") for reply in replies)
    assert set(reasons) <= {"local-idle", "sole-ready", "peer-less-loaded"}, reasons
    equal(reasons["peer-less-loaded"], 6, f"reasons ({reasons})")
    books_are_empty(pair)


@case
def a4_a_client_that_leaves_while_it_waits_never_reaches_an_engine(world):
    pair = boxes(world, THOR, SPARK, scale=4)
    full = [Client(pair[0].router.port, chat(stream=True)) for _ in range(2 * SLOTS)]
    for client in full:
        client.so_far(b"data:")
    before = [box.received() for box in pair]
    held = [Client(pair[0].router.port, chat()) for _ in range(3)]
    until(lambda: pair[0].waiting() == 3, "three requests wait")
    for client in held:
        client.close()
    until(lambda: pair[0].waiting() == 0, "nobody waits")
    for client in full:
        equal(client.reply().status, 200, "status of a request in service")
        client.close()
    equal([box.received() for box in pair], before, "requests that reached the engines")
    books_are_empty(pair)


@cases({f"a4_a_client_that_leaves_frees_its_slot_at_the_peer: {name}": (stream, reset)
        for name, stream, reset in (("streamed", True, False), ("whole", False, False), ("by reset", True, True))})
def leaves_while_served(world, stream, reset):
    pair = boxes(world, None, SPARK, scale=1, tokens=4000)
    clients = [Client(pair[0].router.port, chat(stream=stream)) for _ in range(SLOTS)]
    until(lambda: pair[1].state()["running"] == SLOTS, "both run at the peer")
    for client in clients:
        client.reset() if reset else client.close()
    until(lambda: pair[1].state()["running"] == 0, "the engine of the peer has stopped both")
    books_are_empty(pair)
    equal(burst(pair[0], [chat(max_tokens=4)])[0].status, 200, "status of the next request")


@case
def a5_a_pool_that_is_full_refuses_and_says_when_to_come_back(world):
    pair = boxes(world, THOR, SPARK, scale=2, flags=("--pool-requests", 6, "--policy", "late"))
    replies = burst(pair[0], [chat()] * 16)
    refused = [reply for reply in replies if reply.status != 200]
    equal(len(refused), 16 - 2 * SLOTS - 6, "refused: those beyond slots and pool")
    for reply in refused:
        expect_refusal(reply, 429)
        equal(reply.header("x-evenkeel-refusal"), "pool_full", "reason")
        assert 1 <= int(reply.header("retry-after")) < 60, reply.headers
    books_are_empty(pair)


@case
def a6_one_request_beside_a_flood_of_another_client_starts_with_the_next_slots(world):
    pair = boxes(world, THOR, SPARK, scale=10, flags=("--client-key-headers", "X-Client-Id"))
    warm(pair)
    order, lock = [], threading.Lock()

    def ask(client):
        with Client(pair[0].router.port, chat(f"X-Client-Id: {client}")) as connection:
            equal(connection.reply().status, 200, "status")
            with lock:
                order.append(client)

    flood = [threading.Thread(target=ask, args=("flood",)) for _ in range(64)]
    for thread in flood:
        thread.start()
    until(lambda: pair[0].waiting() >= 40, "the flood waits")
    with lock:
        before = len(order)
    single = threading.Thread(target=ask, args=("single",))
    single.start()
    for thread in [*flood, single]:
        thread.join()
    ahead = order.index("single") - before
    # At most: those in service then, and those that entered with it or before it at the same release.
    assert ahead <= 4 * SLOTS, f"{ahead} of the flood were served before the single request"
    books_are_empty(pair)


@case
def e1_every_role_is_placed_alike_by_alias_and_by_raw_id(world):
    names = ", ".join(f'"{role}"' for role in ROLES)
    pair = boxes(world, THOR, SPARK, models=f'[[models]]\nname = "m"\naliases = [{names}]\n', scale=20, known=True)
    warm(pair)
    for name in (*ROLES, "m"):
        equal(split(burst(pair[0], [chat(model=name, stream=True)] * 4), pair), [2, 2], f"split of four for {name}")
        equal(split(burst(pair[0], [chat(model=name, stream=True)] * 8), pair), [2, 6], f"split of eight for {name}")
    books_are_empty(pair)


@cases({f"e4_{len(tables)}_boxes": (tables,) for tables in ((THOR, SPARK, THOR), (THOR, SPARK, THOR, SPARK, THOR))})
def more_boxes(world, tables):
    fleet = boxes(world, *tables)
    with Watch(fleet) as watch:
        replies = burst(fleet[0], [chat()] * (SLOTS * len(fleet))) + burst(fleet[1], [chat()] * 32)
    counted = split(replies, fleet)
    equal(sum(counted), SLOTS * len(fleet) + 32, "served")
    assert min(counted) > 0, f"a box had none: {counted}"
    watch.expect_no_queue()
    equal([box.received() for box in fleet], counted, "requests at the engines, compared with the receipts: one hop")
    books_are_empty(fleet)


@case
def e4_a_box_without_an_engine_spreads_over_those_that_have_one(world):
    fleet = boxes(world, None, THOR, SPARK)
    listed = fleet[0].get("/v1/models").json()["data"]
    equal([model["id"] for model in listed], ["m"], "models of the box without an engine")
    replies = burst(fleet[0], [chat()] * 8)
    counted = split(replies, fleet)
    equal((counted[0], sum(counted)), (0, 8), f"served here, and in all ({counted})")
    assert min(counted[1:]) > 0, f"a peer had none: {counted}"
    equal({reply.header("x-evenkeel-route-reason") for reply in replies}, {"peer-less-loaded"}, "reasons")
    books_are_empty(fleet)


@cases({f"f1_{size}_at_once_without_pressure": (size,) for size in (8, 64)})
def none_is_refused(world, size):
    pair = boxes(world, THOR, SPARK, scale=100)
    equal(sum(split(burst(pair[0], [chat()] * size), pair)), size, "served")
    books_are_empty(pair)


@case
def g1_a_hundred_bursts_back_to_back_are_all_split(world):
    pair = boxes(world, THOR, SPARK, scale=40, known=True)
    warm(pair)
    splits = collections.Counter(tuple(split(burst(pair[0], [chat()] * 4), pair)) for _ in range(100))
    equal(splits, {(2, 2): 100}, "splits: none suppressed, none partial")
    books_are_empty(pair)


@case
def g6_bursts_at_both_routers_at_once(world):
    pair = boxes(world, THOR, SPARK, known=True)
    warm(pair)
    for _ in range(10):
        before = sum(box.received() for box in pair)
        replies = [None, None]

        def send(at, into=replies):
            into[at] = burst(pair[at], [chat()] * 4)

        with Watch(pair) as watch:
            threads = [threading.Thread(target=send, args=(at,)) for at in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        equal(sum(split(replies[0] + replies[1], pair)), 8, "served")
        equal(sum(box.received() for box in pair) - before, 8, "requests at the engines: each once")
        watch.expect_no_queue()
    books_are_empty(pair)


if __name__ == "__main__":
    kit.main()
