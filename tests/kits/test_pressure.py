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

from support import kit, wire
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
    engine = world.upstream([SSE_HEAD, chunk(FIRST), WAIT(go_on), chunk(FINISH), chunk(DONE), chunk(b"")])
    box = Box(world, "healthy")
    router = world.router(engine, flags=(*box.flags(), "--max-in-flight", 1, "--pool-unroutable-wait", "100ms"))
    with Client(router.port, ask()) as runs, Client(router.port, ask()) as waits:
        runs.so_far(b"one")
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
    box, engine = Box(world, "healthy"), world.upstream([SSE_HEAD, chunk(FIRST), chunk(FINISH), chunk(DONE), chunk(b"")])
    go_on = threading.Event()
    engine.scripts.insert(0, [SSE_HEAD, chunk(FIRST), WAIT(go_on), chunk(FINISH), chunk(DONE), chunk(b"")])
    router = world.router(engine, flags=(*box.flags(), "--max-in-flight", 1, "--pool-unroutable-wait", "60s"))
    with Client(router.port, ask()) as runs, Client(router.port, ask()) as waits:
        runs.so_far(b"one")
        until(lambda: json.loads(router.admin("/pool"))["waiting"] == 1, "one waits")
        box.become("swap-90")
        until_it_sheds(router, True)
        go_on.set()
        equal(runs.reply().status, 200, "the one that ran")
        equal(len(engine.requests()), 1, "requests at the engine while it sheds")
        box.become("healthy")
        equal(waits.reply().status, 200, "the one that waited")


if __name__ == "__main__":
    kit.main()
