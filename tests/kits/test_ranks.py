#!/usr/bin/env python3
"""Data-parallel ranks as workers: which rank gets what, limits, faults and drains by rank, engines that refuse or
ignore the rank. In front of `evenkeel emulate --ranks N`, whose own count of what reached each rank is the judge, and
of scripted engines where bytes matter."""
import collections
import json
import threading
import urllib.request

from support import kit, wire
from support.kit import case, cases, equal, until
from support.router import Emulator
from support.streams import CHAT, CHAT_STREAM, SSE_HEAD, ask
from support.upstream import json_answer
from support.wire import Client, chunked

FAST = ("--health-interval", "50ms")


def fetch(url, method="GET", document=None):
    data = None if document is None else json.dumps(document).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
        return json.loads(answer.read())


def admin(router, path, method, document=None):
    return fetch(f"http://127.0.0.1:{router.admin_port}{path}", method, document)


def name_of(engine):
    return engine.url.removeprefix("http://")


def ranks_of(engine):
    """What the emulator itself says of each rank."""
    return fetch(engine.url + "/emulator/state")["ranks"]


def metric(router, line):
    """The value of one sample, None if it is not there."""
    for found in router.admin("/metrics").decode().splitlines():
        if found.startswith(line + " "):
            return float(found.rsplit(" ", 1)[1])
    return None


def lines(tokens, *more):
    return (f"X-Emulate-Output-Tokens: {tokens}", *more)


def send(router, requests, at_once=16):
    """Replies in the order in which they came to their end."""
    waiting, replies, lock = list(requests), [], threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                request = waiting.pop()
            with Client(router.port, request) as client:
                reply = client.reply()
            with lock:
                replies.append(reply)

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(replies), len(requests), "replies")
    return replies


def by_worker(replies):
    for reply in replies:
        equal((reply.status, reply.complete), (200, True), f"reply {reply.body[-200:]!r}")
    return collections.Counter(reply.header("x-evenkeel-worker") for reply in replies)


@cases({"found_out": (), "declared": ("--ranks", "8"), "barrier_off": ("--no-sync",)})
def every_rank_gets_what_the_receipts_say(world, *flags):
    emulated = ("--ranks", "8") + (("--no-sync",) if "--no-sync" in flags else ())
    engine = Emulator(world, "m", *emulated)
    router = world.router(engine, flags=(*FAST, *flags))
    workers = router.workers()
    equal([worker["name"] for worker in workers if worker["rank"] is not None],
          [f"{name_of(engine)}@{rank}" for rank in range(8)], "names")
    for worker in workers:
        equal((worker["engine_name"], worker["engine"], worker["url"]), (name_of(engine), "vllm", engine.url), "engine")
        equal(worker["group"], None if "--no-sync" in flags else name_of(engine), "group")
    replies = send(router, [ask(CHAT, *lines(5 + number % 40), stream=number % 3 > 0) for number in range(160)])
    counted = by_worker(replies)
    equal({reply.header("x-evenkeel-policy") for reply in replies},
          {"least_wait" if "--no-sync" in flags else "balance"}, "policy for ranks that step by themselves or together")
    there = {f"{name_of(engine)}@{rank['rank']}": rank["received"] for rank in ranks_of(engine)}
    equal(counted, there, "requests by rank: receipts, compared with the engine's own count")
    equal(min(there.values()) > 0, True, f"every rank had some: {there}")


@case
def limits_are_held_by_rank(world):
    engine = Emulator(world, "m", "--ranks", "4", "--time-scale", "4")
    router = world.router(engine, flags=(*FAST, "--max-in-flight", "2"))
    most, done = collections.Counter(), threading.Event()

    def look():
        while not done.is_set():
            for rank in ranks_of(engine):
                most[rank["rank"]] = max(most[rank["rank"]], rank["running"] + rank["waiting"])

    looker = threading.Thread(target=look)
    looker.start()
    by_worker(send(router, [ask(CHAT, *lines(60))] * 48, at_once=24))
    done.set()
    looker.join()
    assert max(most.values()) <= 2, f"more than two at once on a rank: {most}"
    assert min(most.values()) > 0, f"a rank was never seen at work: {most}"


@case
def other_clients_of_one_rank_count_there_alone(world):
    engine = Emulator(world, "m", "--ranks", "4", "--time-scale", "1")
    router = world.router(engine, flags=FAST)
    port = int(engine.url.rsplit(":", 1)[1])
    others = [Client(port, ask(CHAT, *lines(100000), "X-data-parallel-rank: 2", max_tokens=100000)) for _ in range(3)]
    until(lambda: [w["foreign"]["requests"] for w in router.workers() if w["rank"] is not None] == [0, 0, 3, 0],
          "three foreign requests on rank 2, none elsewhere")
    for other in others:
        other.close()


@case
def a_rank_or_the_engine_is_drained_and_removed(world):
    first, second = (Emulator(world, "m", "--ranks", "3") for _ in range(2))
    router = world.router(first, second, flags=FAST)
    admin(router, f"/workers/{name_of(first)}@1/drain", "POST")
    states = {worker["name"]: worker["state"] for worker in router.workers()}
    equal(states[f"{name_of(first)}@1"], "draining", "the rank that was drained")
    equal(collections.Counter(states.values()), {"draining": 1, "routable": 5}, "states")
    equal(f"{name_of(first)}@1" in by_worker(send(router, [ask(CHAT, *lines(3))] * 60)), False, "got more")
    admin(router, f"/workers/{name_of(first)}@0", "DELETE")
    admin(router, f"/workers/{name_of(second)}", "PATCH", {"max_in_flight": 3})
    limits = {worker["name"]: worker["capacity"]["requests"] for worker in router.workers()}
    equal(limits, {f"{name_of(first)}@1": 256, f"{name_of(first)}@2": 256,
                   **{f"{name_of(second)}@{rank}": 3 for rank in range(3)}}, "limits")
    admin(router, f"/workers/{name_of(first)}", "DELETE")
    until(lambda: len(router.workers()) == 3, "all ranks of the engine gone")
    equal(set(by_worker(send(router, [ask(CHAT, *lines(3))] * 30))),
          {f"{name_of(second)}@{rank}" for rank in range(3)}, "workers")
    # The name comes back whole, with the rank that was removed by itself.
    admin(router, "/workers", "POST", {"url": first.url})
    until(lambda: sum(worker["state"] == "routable" for worker in router.workers()) == 6, "three ranks more")


@case
def a_dead_engine_goes_with_all_its_ranks(world):
    dead, alive = (Emulator(world, "m", "--ranks", "4") for _ in range(2))
    router = world.router(dead, alive, flags=("--breaker-faults", "2", "--retry-budget", "1", "--retry-attempts", "4"))
    by_worker(send(router, [ask(CHAT, *lines(3))] * 32))
    dead.close()
    counted = by_worker(send(router, [ask(CHAT, *lines(3))] * 64))
    assert all(worker.startswith(name_of(alive)) for worker in counted), counted
    until(lambda: collections.Counter((w["engine_name"], w["state"]) for w in router.workers()) ==
          {(name_of(dead), "unroutable"): 4, (name_of(alive), "routable"): 4},
          "all ranks of the dead engine out, none of the other")


@case
def a_rank_that_is_refused_is_the_engines_fault(world):
    engine = Emulator(world, "m", "--ranks", "4")
    router = world.router(engine, flags=(*FAST, "--ranks", "6", "--policy", "round_robin", "--retry-budget", "1",
                                         "--breaker-faults", "3"))
    counted = by_worker(send(router, [ask(CHAT, *lines(3), stream=number % 2 == 0) for number in range(96)], at_once=4))
    there = {f"{name_of(engine)}@{rank['rank']}": rank["received"] for rank in ranks_of(engine)}
    equal(counted, there, "requests by rank")
    for rank in (4, 5):
        refused = metric(router, f'evenkeel_worker_rank_refusals_total{{worker="{name_of(engine)}@{rank}"}}')
        assert refused and refused >= 1, f"refusals of rank {rank}: {refused}"
    until(lambda: all("refused its rank" in worker["last_error"] for worker in router.workers()
                      if worker["rank"] in (4, 5)), "the admin API says so")
    equal([worker["state"] for worker in router.workers() if worker["rank"] in range(4)], ["routable"] * 4, "others")
    log = router.log()
    assert "was given 6 ranks and tells of 4" in log and "@5 refused its rank" in log, log


@case
def without_a_retry_a_refused_rank_is_502(world):
    engine = Emulator(world, "m", "--ranks", "2")
    for stream in (False, True):
        router = world.router(engine, flags=(*FAST, "--ranks", "4", "--policy", "round_robin", "--breaker-open", "20s",
                                             "--retry-attempts", "1"))
        replies = send(router, [ask(CHAT, *lines(3), stream=stream)] * 12, at_once=1)
        # Each of the two that are none is asked once, and out for as long as the breaker says.
        equal(collections.Counter(reply.status for reply in replies), {200: 10, 502: 2}, "statuses")
        for reply in replies:
            if reply.status == 502:
                equal(reply.json()["error"]["code"], "rank_refused", "code")
        equal([worker["state"] for worker in router.workers()], ["routable"] * 2 + ["unroutable"] * 2, "states")
    equal(router.workers()[-1]["breaker"]["faults"] > 0, True, "a fault of the worker")


def load_one_rank(world, router, engine, count=8):
    """Long requests of one session, so of one rank, under consistent_hash."""
    return [Client(router.port, ask(CHAT, *lines(2000, "X-Session-Id: one"), max_tokens=2000)) for _ in range(count)]


@case
def an_engine_that_ignores_the_rank_becomes_one_worker(world):
    engine = Emulator(world, "m", "--ranks", "8", "--time-scale", "5", "--ignore-rank-header")
    router = world.router(engine, flags=(*FAST, "--policy", "consistent_hash"))
    equal({worker["rank_honoured"] for worker in router.workers()}, {None}, "rank_honoured before anything was seen")
    clients = load_one_rank(world, router, engine)
    until(lambda: "ignores the rank" in router.log(), "the log says so")
    whole = [worker for worker in router.workers() if worker["state"] == "routable"]
    equal([(w["name"], w["rank"], w["group"], w["rank_honoured"], w["capacity"]["requests"]) for w in whole],
          [(name_of(engine), None, None, False, 8 * 256)], "workers")
    equal(metric(router, f'evenkeel_engine_rank_honoured{{engine="{name_of(engine)}"}}'), 0, "metric")
    equal(metric(router, f'evenkeel_engine_ranks{{engine="{name_of(engine)}"}}'), 8, "metric")
    for client in clients:  # what ran goes on to its end
        with client:
            reply = client.reply()
            equal((reply.status, reply.complete), (200, True), "a request that was under way")
            assert reply.body.rstrip().endswith(b"[DONE]"), reply.body[-100:]
    equal(set(by_worker(send(router, [ask(CHAT, *lines(3))] * 8))), {name_of(engine)}, "worker afterwards")
    # Once it has been away it may be another version: it is tried again.
    fetch(engine.url + "/emulator/faults", "POST", {"ignore_rank_header": False, "health_status": 503})
    until(lambda: {worker["state"] for worker in router.workers()} == {"unroutable"}, "the engine is out")
    fetch(engine.url + "/emulator/faults", "POST", {"health_status": None})
    until(lambda: [(w["rank"], w["rank_honoured"]) for w in router.workers() if w["state"] == "routable"] ==
          [(rank, None) for rank in range(8)], "its ranks are workers again")
    before = {rank["rank"]: rank["received"] for rank in ranks_of(engine)}
    counted = by_worker(send(router, [ask(CHAT, *lines(3, f"X-Session-Id: {number}")) for number in range(64)]))
    there = {f"{name_of(engine)}@{rank['rank']}": rank["received"] - before[rank["rank"]] for rank in ranks_of(engine)}
    equal(counted, collections.Counter({name: count for name, count in there.items() if count}), "requests by rank")


@case
def an_engine_that_honours_it_is_said_to(world):
    engine = Emulator(world, "m", "--ranks", "8", "--time-scale", "5")
    router = world.router(engine, flags=(*FAST, "--policy", "consistent_hash"))
    clients = load_one_rank(world, router, engine)
    until(lambda: {worker["rank_honoured"] for worker in router.workers() if worker["rank"] is not None} == {True},
          "rank_honoured")
    equal(metric(router, f'evenkeel_engine_rank_honoured{{engine="{name_of(engine)}"}}'), 1, "metric")
    for client in clients:
        client.close()


def page(ranks, first=0):
    """An engine's /metrics, idle, of so many ranks."""
    text = "".join(f'vllm:num_requests_{what}{{engine="{rank}",model_name="m"}} 0.0\n'
                   for what in ("running", "waiting") for rank in range(first, first + ranks))
    return [wire.head("200 OK", "Content-Type: text/plain", f"Content-Length: {len(text)}") + text.encode()]


ANSWER = json_answer({"id": "r1", "object": "chat.completion", "model": "m", "choices": []})


@case
def a_lost_probe_of_the_engine_is_one_and_not_one_a_rank(world):
    probes = {"/metrics": page(8)}
    engine = world.upstream([ANSWER], probes=probes)
    router = world.router(engine, flags=("--health-interval", "10ms", "--health-fall", "1000"))
    asked = []

    def refuse(exchange):
        asked.append(exchange)
        exchange.send(json_answer(b"{}", "503 Service Unavailable"))

    probes["/health"] = [refuse]
    until(lambda: len(asked) > 200, "200 bad probes, which would be 1,600 if each rank counted them")
    equal({worker["state"] for worker in router.workers()}, {"routable"}, "states after fewer than 1,000")


@case
def the_rank_goes_up_as_one_field_and_nothing_else_changes(world):
    engine = world.upstream([ANSWER], probes={"/metrics": page(3)})
    router = world.router(engine, flags=(*FAST, "--policy", "round_robin"))
    body = b'{"model" : "m", "messages":[{"role":"user","content":"h\\u00e4"}],\n "x":1}'
    for _ in range(6):
        with Client(router.port, wire.request(CHAT, body, "x-data-parallel-rank: 7")) as client:
            reply = client.reply()
        equal(reply.status, 200, "status")
        exchange = engine.requests()[-1]
        equal(exchange.body, body, "body")
        sent = [value for key, value in exchange.headers if key == "x-data-parallel-rank"]
        equal([f"{name_of(engine)}@{rank}" for rank in sent], [reply.header("x-evenkeel-worker")], "rank field")
    equal(len({exchange.header("x-data-parallel-rank") for exchange in engine.requests()}), 3, "ranks")


@case
def the_ranks_of_a_part_of_a_group_are_counted_from_its_first(world):
    engine = world.upstream([ANSWER], probes={"/metrics": page(4, first=4)})
    router = world.router(engine, flags=(*FAST, "--policy", "round_robin"))
    by_worker(send(router, [ask(stream=False)] * 8, at_once=1))
    equal(collections.Counter(exchange.header("x-data-parallel-rank") for exchange in engine.requests()),
          {str(rank): 2 for rank in range(4)}, "numbers local to the engine")


@case
def another_number_of_ranks_adds_and_removes_workers(world):
    probes = {"/metrics": page(2)}
    engine = world.upstream([ANSWER], probes=probes)
    router = world.router(engine, flags=FAST)

    def names():
        return sorted(worker["name"].removeprefix(name_of(engine)) for worker in router.workers()
                      if worker["state"] == "routable")

    equal(names(), ["@0", "@1"], "workers")
    for ranks, expected in ((4, ["@0", "@1", "@2", "@3"]), (1, [""]), (3, ["@0", "@1", "@2"])):
        probes["/metrics"] = page(ranks)
        until(lambda: names() == expected, f"workers of {ranks} ranks")
        by_worker(send(router, [ask(stream=False)] * 8, at_once=2))


@case
def one_port_a_rank_needs_a_group_only(world):
    engines = [world.upstream([ANSWER], probes={"/metrics": page(1, first=rank)}) for rank in range(3)]
    router = world.router(engines[0], flags=FAST)
    for engine in engines[1:]:
        admin(router, "/workers", "POST", {"url": engine.url, "group": "g"})
    until(lambda: [w["state"] for w in router.workers()] == ["routable"] * 3, "three workers")
    equal([(w["rank"], w["group"]) for w in router.workers()], [(None, None), (None, "g"), (None, "g")], "workers")
    by_worker(send(router, [ask(stream=False)] * 12, at_once=2))
    for engine in engines:
        equal({exchange.header("x-data-parallel-rank") for exchange in engine.requests()}, {None}, "rank field")


@case
def what_names_no_model_goes_to_a_rank_of_the_only_engine(world):
    engine = world.upstream([ANSWER], probes={"/metrics": page(3)})
    router = world.router(engine, flags=FAST)
    for _ in range(8):
        with Client(router.port, wire.request("/v1/audio/speech", b"{}")) as client:
            equal(client.reply().status, 200, "status")
    for exchange in engine.requests():
        assert exchange.header("x-data-parallel-rank") in ("0", "1", "2"), exchange.headers


@case
def admin_refuses_what_cannot_be(world):
    engine = world.upstream([ANSWER], probes={"/metrics": page(1)})
    router = world.router(engine, flags=FAST)
    for document, words in (({"url": "http://127.0.0.1:1", "ranks": 1025}, "from 0 to 1024"),
                            ({"url": "http://127.0.0.1:1", "ranks": "8"}, "must be a whole number"),
                            ({"url": "http://127.0.0.1:1", "sync": 0}, "must be true or false"),
                            ({"url": "http://127.0.0.1:1", "group": "g", "sync": False}, "has no effect"),
                            ({"url": "http://127.0.0.1:1", "name": "a@1"}, "this is no name"),
                            ({"url": "http://127.0.0.1:1", "engine": "tgi", "ranks": 4}, "engine tgi has no ranks"),
                            ({"url": "http://127.0.0.1:1@8"}, "ranks are not told there"),
                            ({"url": "http://127.0.0.1:1", "rank": 4}, "did you mean")):
        try:
            admin(router, "/workers", "POST", document)
        except urllib.error.HTTPError as refused:
            equal(refused.code, 400, "status")
            assert words in refused.read().decode(), (document, words)
        else:
            raise AssertionError(f"taken: {document}")
    equal(len(router.workers()), 1, "workers")


if __name__ == "__main__":
    kit.main()
