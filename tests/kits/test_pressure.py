#!/usr/bin/env python3
"""Pressure on the box, over sockets, on recorded boxes: a memory that thrashes sheds, nothing else does, and nobody is
dialled for what is refused."""
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import threading

from support import kit, peers
from support.kit import case, cases, equal, until
from support.streams import CHAT_STREAM, DONE, FINISH, FIRST, SSE_HEAD, ask, expect_refusal, in_chunks
from support.upstream import WAIT
from support.wire import Client, chunk

TREES = pathlib.Path(__file__).resolve().parents[1] / "data" / "pressure"
STREAM = [in_chunks(CHAT_STREAM)]


class Box:
    """What /proc and /sys of a box show, one recorded box after the other."""

    def __init__(self, world, tree):
        self.root = world.folder / f"box-{len(list(world.folder.glob('box-*')))}"
        self.become(tree)

    def become(self, tree):
        """Each file by itself changes from one moment to the next, as those of a kernel do."""
        for source in (TREES / tree).rglob("*"):
            target = self.root / source.relative_to(TREES / tree)
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            new = target.with_name(target.name + ".new")
            shutil.copyfile(source, new)
            os.replace(new, target)

    @contextlib.contextmanager
    def paging(self):
        """More and more pages come back from swap."""
        stop = threading.Event()

        def page():
            vmstat = self.root / "proc" / "vmstat"
            new = vmstat.with_name("vmstat.new")
            for round_ in itertools.count(1):
                new.write_text(f"pswpin {10**7 + 10**6 * round_}\npswpout 9000000\n")
                os.replace(new, vmstat)
                if stop.wait(0.02):
                    return

        thread = threading.Thread(target=page)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def flags(self, mode="shed", hold="0s"):
        return ("--pressure", mode, "--pressure-root", self.root, "--pressure-interval", "100ms",
                "--pressure-hold", hold)


def pressure(router):
    return json.loads(router.admin("/pressure"))


def until_it_sheds(router, yes):
    until(lambda: pressure(router)["sheds"] == yes, f"sheds: {yes}")


def metric(router, name):
    for line in router.admin("/metrics").decode().splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    return None


def reply_to(router, request):
    with Client(router.port, request) as client:
        return client.reply()


def expect_shed(reply):
    expect_refusal(reply, 429)
    equal(reply.header("x-evenkeel-refusal"), "pressure", "reason")
    assert 1 <= int(reply.header("retry-after")) <= 59, reply.header("retry-after")
    equal(reply.json()["error"]["code"], "pressure", "code")


def streaming_until(event):
    return [SSE_HEAD, chunk(FIRST), WAIT(event), chunk(FINISH), chunk(DONE), chunk(b"")]


def aliases(world, *names):
    path = world.folder / "names.toml"
    path.write_text(f'[[models]]\nname = "m"\naliases = {json.dumps(list(names))}\n')
    return ("--config", path)


def f5(world, box, *flags, pages=contextlib.nullcontext()):
    engine = world.upstream(STREAM)
    router = world.router(engine, flags=(*aliases(world, "cortex"), *flags))
    with pages:
        until_it_sheds(router, True)
        for model in ("m", "cortex"):
            expect_shed(reply_to(router, ask(model=model)))
    equal(len(engine.requests()), 0, "requests at the engine")
    equal(metric(router, "evenkeel_pressure_shedding"), 1, "gauge")
    assert 'evenkeel_refusals_total{reason="pressure"} 2' in router.admin("/metrics").decode()
    box.become("healthy")
    until_it_sheds(router, False)
    for model in ("m", "cortex"):
        equal(reply_to(router, ask(model=model)).status, 200, "status of a box that is well again")
    equal(metric(router, "evenkeel_pressure_shed_begun_total"), 1, "times it began")


@cases({"thrash": ("swap-90", ()), "swap alone": ("swap-90-quiet", ("--pressure-evidence", "swap"))})
def f5_a_short_box_refuses_without_dialling(world, tree, flags):
    """With no peer to go to: 429, for a name as for an alias (F7), and the engine hears of nobody."""
    box = Box(world, tree)
    f5(world, box, *box.flags(), *flags)


@case
def f5_without_stall_information_by_swap_traffic(world):
    box = Box(world, "no-psi")
    f5(world, box, *box.flags(hold="5s"), pages=box.paging())


@cases({tree: (tree,) for tree in ("healthy", "swap-90-quiet", "no-swap", "false-pressure", "damaged")})
def f2_no_other_box_sheds(world, tree):
    box, engine = Box(world, tree), world.upstream(STREAM)
    router = world.router(engine, flags=box.flags())
    looks = pressure(router)["looks"]
    until(lambda: pressure(router)["looks"] > looks + 1, "three looks")
    for _ in range(8):
        equal(reply_to(router, ask()).status, 200, "status")
    shown = pressure(router)
    equal((shown["sheds"], shown["would_shed"]), (False, False), shown["reason"])
    equal(shown["mode"], {"healthy": "warm", "no-swap": "warm", "damaged": "unknown"}.get(tree, "busy"), "mode")


@case
def f8_false_pressure_is_shown_as_busy_and_sheds_nothing(world):
    box, engine = Box(world, "false-pressure"), world.upstream(STREAM)
    router = world.router(engine, flags=box.flags())
    box.become("false-pressure-5s-later")
    shown = until(lambda: (lambda p: p if p["iowait_percent"] == 71.5 else None)(pressure(router)), "71.5 % iowait")
    equal((shown["mode"], shown["sheds"], shown["swap_used_percent"]), ("busy", False, 18.9), "what is shown")
    equal(max(row["io_full_avg10"] for row in shown["cgroups"]["worst"]), 96.66, "the cgroup that is charged")
    for _ in range(4):
        equal(reply_to(router, ask()).status, 200, "status")


@case
def showing_sheds_nothing(world):
    box, engine = Box(world, "swap-90"), world.upstream(STREAM)
    router = world.router(engine, flags=box.flags("show"))
    equal(reply_to(router, ask()).status, 200, "status")
    shown = pressure(router)
    equal((shown["acts"], shown["sheds"], shown["would_shed"]), ("show", False, True), "what is shown")


@case
def off_looks_at_nothing(world):
    router = world.router(world.upstream(STREAM))
    equal(pressure(router), {"acts": "off"}, "what is shown")
    assert "evenkeel_pressure" not in router.admin("/metrics").decode(), "metrics"


@case
def what_runs_goes_on_and_what_waits_is_told(world):
    go_on = threading.Event()
    engine = world.upstream(streaming_until(go_on))
    box = Box(world, "healthy")
    router = world.router(engine, flags=(*box.flags(), "--max-in-flight", 1, "--pool-unroutable-wait", "100ms"))
    with Client(router.port, ask()) as runs, Client(router.port) as waits:
        runs.so_far(b"one")
        waits.send(ask())
        until(lambda: json.loads(router.admin("/pool"))["waiting"] == 1, "one waits")
        box.become("swap-90")
        until_it_sheds(router, True)
        expect_shed(waits.reply())
        go_on.set()
        reply = runs.reply()
        equal((reply.status, reply.complete), (200, True), "the one that ran")
        assert b"[DONE]" in reply.body, "its end"
    equal(len(engine.requests()), 1, "requests at the engine")


@case
def a_box_that_gets_well_serves_what_still_waits(world):
    go_on = threading.Event()
    box, engine = Box(world, "healthy"), world.upstream(streaming_until(go_on), STREAM)
    router = world.router(engine, flags=(*box.flags(), "--max-in-flight", 1, "--pool-unroutable-wait", "60s"))
    with Client(router.port, ask()) as runs, Client(router.port) as waits:
        runs.so_far(b"one")
        waits.send(ask())
        until(lambda: json.loads(router.admin("/pool"))["waiting"] == 1, "one waits")
        box.become("swap-90")
        until_it_sheds(router, True)
        go_on.set()
        equal(runs.reply().status, 200, "the one that ran")
        equal(len(engine.requests()), 1, "requests at the engine while it sheds")
        box.become("healthy")
        equal(waits.reply().status, 200, "the one that waited")


@case
def f6_a_model_that_is_never_shed_is_served(world):
    box, engine = Box(world, "swap-90"), world.upstream(STREAM, models=("m", "small"))
    path = world.folder / "names.toml"
    path.write_text('''[[models]]
name = "m"
[[models]]
name = "small"
aliases = ["hand", "minor"]
never_shed = true
''')
    router = world.router(engine, flags=("--config", path, *box.flags()))
    until_it_sheds(router, True)
    for model in ("hand", "minor", "small"):
        equal(reply_to(router, ask(model=model)).status, 200, model)
    expect_shed(reply_to(router, ask(model="m")))
    equal(len(engine.requests()), 3, "requests at the engine")


# --- two boxes, each the other's peer ---


NAMES = '[[models]]\nname = "m"\naliases = ["cortex"]\nruntime = "vllm"\n'


def pair(world, *engines, flags=()):
    """Two boxes that are well, and what each shows of itself."""
    shown = [Box(world, "healthy") for _ in engines]
    made = peers.boxes(world, *engines, flags=flags, each=[box.flags() for box in shown], models=NAMES)
    return made, shown


def begin_to_shed(box, shown):
    shown.become("swap-90")
    until_it_sheds(box.router, True)


def come_under_false_pressure(box, shown):
    shown.become("false-pressure")
    looks = pressure(box.router)["looks"]
    until(lambda: pressure(box.router)["looks"] > looks, "another look")  # a share takes two
    shown.become("false-pressure-5s-later")
    until(lambda: pressure(box.router)["mode"] == "busy", "it looks busy")


def knows_that_it_sheds(box, other):
    until(lambda: [worker["state"] for worker in box.router.workers() if worker["name"] == other.name] != ["routable"],
          "the peer is known to shed")


@cases({"raw id": ("m",), "alias": ("cortex",)})
def f3_what_a_short_box_cannot_take_its_peer_does(world, model):
    (thor, spark), (short, _) = pair(world, peers.THOR, peers.SPARK)
    begin_to_shed(thor, short)
    replies = peers.burst(thor, [peers.chat(model=model)] * 8)
    equal(peers.split(replies, [thor, spark]), [0, 8], "who served")
    equal({reply.header("x-evenkeel-route-reason") for reply in replies}, {"local-busy-forwarded"}, "reasons")
    equal([thor.received(), spark.received()], [0, 8], "requests at the engines")
    peers.books_are_empty([thor, spark])


@case
def f4_held_until_the_peer_is_free(world):
    go_on = threading.Event()
    own, engine = peers.scripted(world, STREAM), peers.scripted(world, streaming_until(go_on))
    (thor, spark), (short, _) = pair(world, own, engine, flags=("--pool-timeout", "60s"))
    begin_to_shed(thor, short)
    with contextlib.ExitStack() as stack:
        full = [stack.enter_context(Client(spark.router.port, ask())) for _ in range(peers.SLOTS)]
        for client in full:
            client.so_far(b"one")
        held = stack.enter_context(Client(thor.router.port, ask()))
        until(lambda: thor.waiting() == 1, "it is held")
        equal(len(engine.requests()), peers.SLOTS, "requests at the peer's engine")
        go_on.set()
        reply = held.reply()
        equal((reply.status, reply.header("x-evenkeel-worker")), (200, spark.name), "who served")
        equal(reply.header("x-evenkeel-route-reason"), "local-busy-forwarded", "reason")
        for client in full:
            equal(client.reply().status, 200, "those before it")
    equal(len(own.requests()), 0, "requests at the short box's engine")
    peers.books_are_empty([thor, spark])


@case
def f4_refused_only_at_its_deadline(world):
    go_on = threading.Event()
    own, engine = peers.scripted(world, STREAM), peers.scripted(world, streaming_until(go_on))
    (thor, spark), (short, _) = pair(world, own, engine,
                                     flags=("--pool-timeout", "300ms", "--pool-unroutable-wait", "300ms"))
    begin_to_shed(thor, short)
    with contextlib.ExitStack() as stack:
        full = [stack.enter_context(Client(spark.router.port, ask())) for _ in range(peers.SLOTS)]
        for client in full:
            client.so_far(b"one")
        reply = reply_to(thor.router, ask())
        expect_refusal(reply, 429)
        equal(reply.header("x-evenkeel-refusal"), "deadline", "reason")
        assert 1 <= int(reply.header("retry-after")) <= 59, reply.header("retry-after")
        go_on.set()
        for client in full:
            equal(client.reply().status, 200, "those at the peer")
    peers.books_are_empty([thor, spark])


@case
def f5_two_short_boxes_refuse_without_dialling(world):
    (thor, spark), both = pair(world, peers.THOR, peers.SPARK)
    for box, shown in zip((thor, spark), both):
        begin_to_shed(box, shown)
    for box, other in ((thor, spark), (spark, thor)):
        knows_that_it_sheds(box, other)
    for model in ("m", "cortex"):  # F7
        reply = reply_to(thor.router, peers.chat(model=model))
        expect_shed(reply)
        equal(reply.header("x-evenkeel-attempt"), "0", "attempts")
    equal([thor.received(), spark.received()], [0, 0], "requests at the engines")
    peers.books_are_empty([thor, spark])


@case
def f2_iowait_of_both_boxes_sheds_nothing(world):
    (thor, spark), both = pair(world, peers.THOR, peers.SPARK)
    for box, shown in zip((thor, spark), both):
        come_under_false_pressure(box, shown)
    replies = peers.burst(thor, [peers.chat()] * 8)
    equal(sum(peers.split(replies, [thor, spark])), 8, "served")
    peers.books_are_empty([thor, spark])


@case
def f8_a_peer_under_false_pressure_takes_its_part(world):
    (thor, spark), (_, charged) = pair(world, peers.THOR, peers.SPARK)
    come_under_false_pressure(spark, charged)
    shown = spark.get("/status").json()["pressure"]
    equal((shown["mode"], shown["shed"], shown["reason"]), ("busy", False, "default"), "what /status shows")
    equal([round(shown[key], 1) for key in ("swap_used_percent", "iowait_percent")], [18.9, 71.5], "figures")
    replies = peers.burst(thor, [peers.chat()] * 4)
    equal(peers.split(replies, [thor, spark]), [2, 2], "the split")
    peers.books_are_empty([thor, spark])


if __name__ == "__main__":
    kit.main()
