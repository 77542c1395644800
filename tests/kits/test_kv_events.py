#!/usr/bin/env python3
"""KV-cache events of emulated engines, which say themselves what their caches hold: the router must know the same,
after lost batches, with and without a replay, after a restart, or say that it guesses."""
import itertools
import json
import random
import socket
import urllib.request

from support import kit
from support.kit import case, cases, equal, until
from support.router import Emulator, free_port
from support.streams import COMPLETIONS, ask
from support.wire import Client

BLOCK = 16
FAST = ("--health-interval", "50ms", "--policy", "longest_prefix")


def fetch(url, method="GET", document=None):
    data = None if document is None else json.dumps(document).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
        body = answer.read()
        return json.loads(body) if body else None


def free_row(count):
    """The first of so many consecutive ports that nobody listens on."""
    while True:
        first = free_port()
        probes = [socket.socket() for _ in range(count)]
        try:
            for place, probe in enumerate(probes):
                probe.bind(("127.0.0.1", first + place))
            return first
        except (OSError, OverflowError):
            continue
        finally:
            for probe in probes:
                probe.close()


class Engine(Emulator):
    def __init__(self, world, *flags, ranks=1, replay=True):
        for left in reversed(range(5)):
            events = free_row(2 * ranks)
            self.joining = {"engine": "vllm", "kv_events": f"tcp://127.0.0.1:{events}"}
            more = ["--prefix-cache", "--kv-events", events, "--ranks", ranks]
            if replay:
                self.joining["kv_events_replay"] = f"tcp://127.0.0.1:{events + ranks}"
                more += ["--kv-events-replay", events + ranks]
            try:
                super().__init__(world, "m", "--kv-tokens", 100 * BLOCK, "--max-model-len", 1000, *more, *flags)
                break
            except AssertionError:  # somebody else took one of the ports meanwhile
                if left == 0:
                    raise
        self.name = self.url.removeprefix("http://")

    def fault(self, **faults):
        fetch(self.url + "/emulator/faults", "POST", faults)

    def ranks(self):
        return fetch(self.url + "/emulator/state")["ranks"]


def router_of(world, *engines, flags=()):
    router = world.router(flags=(*FAST, *flags), ready=False)
    for engine in engines:
        fetch(f"http://127.0.0.1:{router.admin_port}/workers", "POST", {"url": engine.url, **engine.joining})
    until(lambda: router.answers("/ready") and all(worker["state"] == "routable" for worker in router.workers()),
          "every worker is routable")
    until(lambda: all(kv is not None and kv["state"] != "away" for kv in kv_of(router).values()), "each is heard")
    return router


def kv_of(router):
    """What the router says of each worker's events."""
    return {worker["name"]: worker["kv_events"] for worker in router.workers()}


def told(engines):
    """What the engines themselves hold, and how many batches they have told of it."""
    all_ranks = {}
    for engine in engines:
        for rank in engine.ranks():
            name = engine.name if len(engine.ranks()) == 1 else f"{engine.name}@{rank['rank']}"
            all_ranks[name] = (rank["kv_events_number"], rank["cached_blocks"])
    return all_ranks


def known(router):
    return {name: (kv["sequence"], kv["blocks"]) for name, kv in kv_of(router).items() if kv["source"] == "exact"}


def in_step(router, *engines):
    """The router knows what the engines hold, all of it: their own count is the judge."""
    until(lambda: known(router) == told(engines), f"the router knows what the engines hold: {told(engines)}")


def send(router, prompt, tokens=4):
    """Which worker answered a prompt of token ids, and how many of them it had in its cache."""
    request = ask(COMPLETIONS, f"X-Emulate-Output-Tokens: {tokens}", stream=False, prompt=prompt, max_tokens=400)
    with Client(router.port, request) as client:
        reply = client.reply()
    equal((reply.status, reply.complete), (200, True), f"reply {reply.body[-200:]!r}")
    details = reply.json()["usage"].get("prompt_tokens_details")
    return reply.header("x-evenkeel-worker"), details["cached_tokens"] if details else 0


def found(prompt):
    """Tokens that a cache which holds all of the prompt gives: whole blocks, and never the last token."""
    return (len(prompt) - 1) // BLOCK * BLOCK


def fresh(seed, blocks=6):
    """A prompt that nobody has seen, longer than so many blocks."""
    return [1000 + 7 * seed + i * (seed + 3) % 9000 for i in range(blocks * BLOCK + 5)]


def goes_where_it_was(router, prompt, at):
    equal(send(router, prompt), (at, found(prompt)), "the worker that holds the prompt, and tokens it found")


@cases({
    "maps_of_integers": (),
    "maps_of_bytes": ("--kv-event-hashes", "bytes"),
    "lists_of_integers": ("--kv-event-format", "lists"),
    "lists_of_signed_integers": ("--kv-event-format", "lists", "--kv-event-hashes", "signed"),
    "lists_of_bytes": ("--kv-event-format", "lists", "--kv-event-hashes", "bytes"),
})
def what_is_known_is_what_is_held(world, *flags):
    engines = [Engine(world, *flags) for _ in range(2)]
    router = router_of(world, *engines)
    draw = random.Random(1)
    stems = [fresh(seed, draw.randrange(1, 20)) for seed in range(8)]
    for number in range(60):  # far more than the caches hold: blocks are evicted, too
        send(router, draw.choice(stems) + fresh(100 + number, draw.randrange(0, 4)), tokens=draw.randrange(1, 40))
    in_step(router, *engines)
    for kv in kv_of(router).values():
        equal((kv["state"], kv["whole"], kv["gaps"], kv["restarts"], kv["unreadable"], kv["unplaced_blocks"]),
              ("live", True, 0, 0, 0, 0), "nothing was missed")
        equal(kv["block_size"], BLOCK, "tokens a block")
    for seed in range(200, 206):
        at, hit = send(router, fresh(seed))
        equal(hit, 0, "nobody has seen it")
        in_step(router, *engines)
        goes_where_it_was(router, fresh(seed), at)
        in_step(router, *engines)


@case
def each_rank_tells_of_its_own_cache(world):
    engine = Engine(world, ranks=3)
    router = router_of(world, engine)
    equal(sorted(kv_of(router)), [f"{engine.name}@{rank}" for rank in range(3)], "workers")
    for seed in range(12):
        at, _ = send(router, fresh(seed, 3))
        until(lambda: known(router).items() >= {at: told([engine])[at]}.items(), "the rank's events")
        goes_where_it_was(router, fresh(seed, 3), at)
    equal(len({name for name, (number, _) in told([engine]).items() if number is not None}) > 1, True, "several ranks")


@case
def a_gap_is_filled_by_replay(world):
    engine = Engine(world)
    router = router_of(world, engine)
    for seed in range(4):
        send(router, fresh(seed))
    in_step(router, engine)
    before = kv_of(router)[engine.name]
    engine.fault(kv_drop_batches=3)
    for seed in range(4, 24):
        send(router, fresh(seed, 10))
    in_step(router, engine)
    kv = kv_of(router)[engine.name]
    equal(kv["replays"], before["replays"] + 1, "replays asked for")
    equal((kv["gaps"], kv["whole"], kv["state"]), (0, True, "live"), "which filled the gap")


@cases({"no_answer": (True,), "no_endpoint": (False,)})
def a_gap_that_stays_is_told_and_what_is_behind_it_is_known(world, replay):
    engine = Engine(world, replay=replay)
    router = router_of(world, engine)
    seeds = itertools.count(100)  # what is told before the subscription has arrived is heard by nobody
    until(lambda: send(router, fresh(next(seeds))) and kv_of(router)[engine.name]["blocks"] > 0, "events before the gap")
    engine.fault(kv_drop_batches=1, kv_no_replay=True)
    send(router, fresh(2))
    new = fresh(3)
    send(router, new)
    until(lambda: (kv_of(router)[engine.name]["gaps"], kv_of(router)[engine.name]["state"]) == (1, "live"), "the gap")
    kv = kv_of(router)[engine.name]
    equal((kv["whole"], kv["sequence"]), (False, engine.ranks()[0]["kv_events_number"]), "a part is known")
    equal(0 < kv["blocks"] < engine.ranks()[0]["cached_blocks"], True, f"of what is held: {kv['blocks']}")
    goes_where_it_was(router, new, engine.name)
    # A cache that is emptied is known whole again.
    fetch(engine.url + "/reset_prefix_cache", "POST")
    until(lambda: kv_of(router)[engine.name]["whole"], "emptied")
    send(router, fresh(4))
    in_step(router, engine)


@case
def a_restart_is_an_empty_cache(world):
    engines = [Engine(world) for _ in range(2)]
    router = router_of(world, *engines)
    prompts = [fresh(seed) for seed in range(6)]
    for prompt in prompts:
        send(router, prompt)
    in_step(router, *engines)
    for engine in engines:
        fetch(engine.url + "/emulator/restart_cache", "POST")
    for seed in range(50, 60):
        at, hit = send(router, fresh(seed))
        equal(hit, 0, "nothing is left of what was there")
    served = {name for name, (number, _) in told(engines).items() if number is not None}
    until(lambda: all(kv_of(router)[name]["restarts"] == 1 for name in served), "the restart was seen")
    until(lambda: {name: known(router)[name] for name in served} == {name: told(engines)[name] for name in served},
          "what is held since")
    equal({kv_of(router)[name]["whole"] for name in served}, {True}, "known from its start on")


@case
def a_worker_that_falls_silent_is_guessed_at_until_it_speaks(world):
    engine = Engine(world)
    router = router_of(world, engine)
    send(router, fresh(1))
    in_step(router, engine)
    live = 'evenkeel_kv_events_live{worker="%s"} ' % engine.name
    equal(live + "1" in router.admin("/metrics").decode().splitlines(), True, "live on the metrics page")
    engine.fault(kv_silent=True)
    until(lambda: send(router, fresh(2), tokens=300) and kv_of(router)[engine.name]["state"] == "silent", "silence")
    kv = kv_of(router)[engine.name]
    equal((kv["source"], kv["age_ms"] >= 5000), ("approximate", True), f"said so: {kv}")
    equal(live + "0" in router.admin("/metrics").decode().splitlines(), True, "not live on the metrics page")
    engine.fault(kv_silent=False)
    in_step(router, engine)
    equal(kv_of(router)[engine.name]["gaps"], 0, "nothing was lost")


@case
def an_engine_that_goes_is_not_believed(world):
    engine = Engine(world)
    router = router_of(world, engine)
    send(router, fresh(1))
    in_step(router, engine)
    engine.close()
    until(lambda: kv_of(router)[engine.name]["state"] == "away", "it is gone")
    equal(kv_of(router)[engine.name]["source"], "approximate", "what its cache holds")


@case
def an_engine_that_never_tells_is_complained_of(world):
    """Its endpoint is set up here, and nobody publishes there."""
    engine = Emulator(world, "m", "--prefix-cache", "--kv-tokens", 100 * BLOCK, "--max-model-len", 1000)
    router = world.router(flags=FAST, ready=False)
    fetch(f"http://127.0.0.1:{router.admin_port}/workers", "POST",
          {"url": engine.url, "engine": "vllm", "kv_events": f"tcp://127.0.0.1:{free_port()}"})
    until(lambda: router.answers("/ready"), "the router is ready")
    equal(router.workers()[0]["last_error"], "", "nothing yet")
    for seed in range(64):
        send(router, fresh(seed))
    until(lambda: "has told nothing of its prefix cache though 64 requests" in router.workers()[0]["last_error"], "told")
    equal("see whether it publishes" in router.log(), True, "the log says so")


@case
def several_caches_behind_one_worker_are_not_taken_for_one(world):
    engine = Engine(world, "--ignore-rank-header", "--time-scale", "5", ranks=8)
    router = world.router(flags=("--health-interval", "50ms", "--policy", "consistent_hash"), ready=False)
    fetch(f"http://127.0.0.1:{router.admin_port}/workers", "POST", {"url": engine.url, **engine.joining})
    until(lambda: router.answers("/ready") and len(router.workers()) == 8, "the ranks are known")
    until(lambda: all(worker["kv_events"] for worker in router.workers()), "each is followed")
    one_rank = ask(COMPLETIONS, "X-Emulate-Output-Tokens: 900", "X-Session-Id: one", prompt=fresh(1, 1), max_tokens=900)
    clients = [Client(router.port, one_rank) for _ in range(8)]
    until(lambda: len([1 for worker in router.workers() if worker["state"] == "routable"]) == 1, "it ignores the rank")
    one = next(worker for worker in router.workers() if worker["state"] == "routable")
    until(lambda: next(worker for worker in router.workers() if worker["name"] == one["name"])["last_error"] ==
          "its 8 ranks have a prefix cache each and are one worker: kv_events are not followed", "it is said")
    equal(one["kv_events"], None, "no cache is claimed to be known")
    for client in clients:
        with client:
            client.reply()


if __name__ == "__main__":
    kit.main()
