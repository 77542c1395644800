#!/usr/bin/env python3
"""Ten thousand mixed requests (--requests), twice, over workers that refuse, fail, die and stall, from clients that
leave at every stage. Each request must be in exactly one outcome class and one line of the access log, the books at
zero, the descriptors as before, and the memory after all of them within 2 % of that after half of them.

The router is small beside what an allocator keeps for later: two large bodies at once, by chance, and the heap is
a megabyte larger for good. So memory is measured in the second half of the run, and the allocator is told to give
back large blocks; what then grows within that half is kept by the router."""
import asyncio
import collections
import json
import os
import pathlib
import re

from support import kit
from support.chaos import TRUE_ENDS, UNNAMED, ChaosWorkers, draw, play
from support.kit import case, equal, until
from support.router import Emulator

SEED = 1
CONCURRENCY = 64
OUTCOMES = {"completed", "client_fault", "back_pressure", "worker_fault", "transport_fault", "cancelled"}
# Fewer places than clients, so that requests wait, and now and then find the pool full. Breakers that close
# again soon, retries for most that may have one, and time limits that the clients' own patience stays under.
FLAGS = ("--max-in-flight", 5, "--pool-requests", 38, "--pool-timeout", "5s", "--threads", 2, "--seed", SEED,
         "--retry-budget", 0.5, "--breaker-open", "100ms", "--breaker-cap", "400ms", "--first-byte-timeout", "3s",
         "--silence-timeout", "3s", "--health-interval", "200ms")
MEMORY_GROWTH = 1.02
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}  # of glibc; bytes
LEAST_SHARE = 0.005  # of the measured requests, in each of the classes that must not be missing
kit.option("--requests", type=int, default=10_000, metavar="N", help="after as many to warm up; default: 10000")


def keeps_what_is_freed(binary):
    """Whether the binary's allocator is a sanitizer's, whose memory says nothing of the router's."""
    data = binary.read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


class Url:
    def __init__(self, url):
        self.url = url


class Run:
    def __init__(self, world):
        self.log_path = world.folder / "access.log"
        self.workers = ChaosWorkers(world, 4, SEED)
        engine = Emulator(world, "m", "--output-tokens", "fixed:6")
        self.router = world.router(*map(Url, self.workers.urls), engine, flags=(*FLAGS, "--access-log", self.log_path))
        self.probes = self.counted()  # /ready and the like are counted, not logged
        self.plans = {}
        self.seen = {}

    def play(self, numbers):
        plans = [draw(number, SEED) for number in numbers]
        self.workers.become("rough")
        self.seen.update(asyncio.run(play(self.router.port, plans, CONCURRENCY)))
        self.workers.become("calm")
        self.plans.update((plan.number, plan) for plan in plans)
        until(lambda: self.gauge("evenkeel_connections") == 0, "every client connection is over")
        until(self.router.books_are_zero, "books back to zero")

    def metrics(self):
        """{name or name{labels}: value}"""
        text = self.router.admin("/metrics").decode()
        return {name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.M)}

    def gauge(self, name):
        return self.metrics()[name]

    def memory_kib(self):
        status = pathlib.Path(f"/proc/{self.router.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB$", status, re.M).group(1))

    def lines(self):
        """Every line of the access log, once as many are there as requests of clients were counted."""
        def written():
            text = self.log_path.read_text()
            return text if text.count("\n") == self.counted() - self.probes else None
        return [json.loads(line) for line in until(written, "a line for each request that was counted").splitlines()]

    def counted(self):
        """Requests in all outcome classes."""
        counts = self.metrics()
        found = {name: value for name, value in counts.items() if name.startswith("evenkeel_requests_total")}
        equal(set(found), {f'evenkeel_requests_total{{outcome="{name}"}}' for name in OUTCOMES}, "outcome classes")
        return sum(found.values())


def check_each_request_has_one_line(run, lines):
    by_id = collections.Counter(line["id"] for line in lines)
    named = [plan for plan in run.plans.values() if plan.kind not in UNNAMED]
    wrong = [(plan, by_id[plan.id]) for plan in named if by_id[plan.id] != 1]
    assert not wrong, f"{len(wrong)} requests without exactly one line: {wrong[:3]}"
    assert all(line["outcome"] in OUTCOMES for line in lines)
    equal(len(lines), len(run.plans), "lines in all, those of refused heads too")
    return {line["id"]: line for line in lines}


def check_against_what_clients_saw(run, line_of):
    """The log must tell what the client saw, and no broken stream may look whole."""
    tally = collections.Counter()
    for number, plan in run.plans.items():
        seen, line = run.seen[number], line_of.get(plan.id)
        said = f"{plan}, the client saw {seen}, the log says {line}"
        if line is None or seen.left:
            tally["left" if seen.left else "unnamed"] += 1
            continue
        if plan.stream and seen.status == 200 and not seen.complete:
            assert TRUE_ENDS[plan.path] not in seen.body, f"a broken stream with a true end: {said}"
            tally["broken streams"] += 1
        assert seen.status == line["status"], f"status: {said}"
        whole = seen.complete and (not plan.stream or seen.status != 200 or TRUE_ENDS[plan.path] in seen.body)
        if line["outcome"] == "completed":
            assert whole and seen.status < 400, f"completed, but not for the client: {said}"
        elif line["outcome"] == "client_fault":
            assert 400 <= seen.status < 500 or seen.status == 501, f"a client fault: {said}"
        else:
            assert seen.status >= 400 or b"error" in seen.body or not whole, f"a failure that looks whole: {said}"
        tally[line["outcome"]] += 1
    return tally


@case
def mixed_requests(world):
    os.environ.update(GIVE_BACK)
    run = Run(world)
    before = run.router.descriptors()
    requests = world.options.requests
    middle, end = requests + requests // 2, requests + requests
    run.play(range(requests))
    run.play(range(requests, middle))
    memory = run.memory_kib()
    run.play(range(middle, end))
    grown = run.memory_kib() / memory

    lines = run.lines()
    line_of = check_each_request_has_one_line(run, lines)
    tally = check_against_what_clients_saw(run, line_of)
    for name in ("completed", "client_fault", "back_pressure", "worker_fault", "transport_fault", "left", "broken streams"):
        assert tally[name] > LEAST_SHARE * requests, f"the mix has lost its {name}: {tally}"
    equal(run.gauge("evenkeel_books_sound"), 1, "books sound")
    equal(run.gauge("evenkeel_requests_open"), 0, "requests open")
    until(lambda: run.router.descriptors() <= before, f"at most {before} descriptors again")
    print(f"     {dict(tally)}; memory after half {memory} KiB, then x {grown:.4f}")
    if not keeps_what_is_freed(world.binary):
        assert grown <= MEMORY_GROWTH, f"memory grew by {grown - 1:.1%} over the second half"


if __name__ == "__main__":
    kit.main()
