"""Counts per request and per event that repeat on any machine: instructions, system calls, allocations.

Each is the difference between a long and a short load on the same set-up, divided by the difference in length.
Start-up, connections and stream heads cancel. What a proxy does in the background (probes, timers) cancels as well,
because it is watched equally long both times: the short load is followed by idling.
"""

import dataclasses
import mmap
import os
import re
import struct
import time

from .contestants import Proxy
from .phases import run_load
from .processes import BenchError, family


@dataclasses.dataclass(frozen=True)
class Work:
    """A load in two lengths."""
    short: tuple
    long: tuple
    units: int  # that the long one has more


def _requests(connections, short, long):
    load = ("unary", "--connections", connections, "--requests")
    return Work((*load, short), (*load, long), long - short)


def _events(streams, short, long, *flags, interval_us=40_000):
    load = ("streams", "--streams", streams, "--interval-us", interval_us, *flags, "--events")
    return Work((*load, short), (*load, long), streams * (long - short))


# Alone: each request and each event finds the proxy asleep, so none shares a wake-up with another: the dearest case,
# and the one that repeats exactly. Busy: sixteen requests at a time, and events by the engines' steps. Many: for
# allocations, which do not depend on wake-ups; a round of probes more or less (some two hundred) must not show.
WORKS = {
    "alone": {"request": _requests(1, 1000, 4000), "event": _events(8, 25, 150)},
    "busy": {"request": _requests(16, 2000, 6000), "event": _events(64, 32, 96, "--in-step")},
    "many": {"request": _requests(16, 2000, 14000), "event": _events(64, 50, 650, "--in-step", interval_us=10_000)},
}
UNITS = ("request", "event")
SETTLE_SECONDS = 0.5


def work_of(unit, count, busy):
    return WORKS["many" if count == "allocations" else "busy" if busy else "alone"][unit]


def timed_load(lab, proxy, load, last_at_least):
    """Runs a load, idles until the whole took `last_at_least` seconds; returns what it took."""
    start = time.monotonic()
    run_load(lab, proxy.port, load)
    time.sleep(SETTLE_SECONDS + max(0.0, last_at_least - (time.monotonic() - start) - SETTLE_SECONDS))
    return time.monotonic() - start


def under_wrapper(lab, name, spec, wrapper, load, last_at_least):
    """A life of the proxy under a wrapping tool, with one load; the proxy's processes and the load's time."""
    proxy = Proxy(lab, name, spec, wrapper=wrapper, ready_seconds=90)
    took = timed_load(lab, proxy, load, last_at_least)
    # The tool itself may run on: strace ends with the process that it started.
    started = [pid for pid in family(proxy.child.popen.pid) if pid != proxy.child.popen.pid]
    wraps_in_place = wrapper[0] == "valgrind"
    proxy.stop(None if wraps_in_place or not started else started[0], seconds=30)
    lab.children.remove(proxy.child)
    return proxy.pids, took


def instructions(lab, name, spec, work):
    """User instructions a unit, all threads and forked children, as callgrind counts them."""
    def life(load, last_at_least):
        prefix = os.path.join(lab.folder, f"callgrind.{name}.{time.monotonic_ns()}")
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={prefix}.%p"]
        pids, took = under_wrapper(lab, name, spec, tool, load, last_at_least)
        return sum(_callgrind_total(f"{prefix}.{pid}") for pid in pids), took

    long_total, took = life(work.long, 0)
    short_total, _ = life(work.short, took)
    return (long_total - short_total) / work.units


def _callgrind_total(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("totals:"))
    except (OSError, StopIteration) as error:
        raise BenchError(f"callgrind wrote no totals to {path}: the proxy did not end well on SIGTERM") from error


def system_calls(lab, name, spec, work):
    """System calls a unit by name, all threads and forked children, as strace counts them."""
    def life(load, last_at_least):
        path = os.path.join(lab.folder, f"strace.{name}.{time.monotonic_ns()}")
        _, took = under_wrapper(lab, name, spec, ["strace", "-c", "-f", "-qq", "-o", path], load, last_at_least)
        return _strace_counts(path), took

    long_calls, took = life(work.long, 0)
    short_calls, _ = life(work.short, took)
    return {call: (long_calls.get(call, 0) - short_calls.get(call, 0)) / work.units
            for call in long_calls.keys() | short_calls.keys()}


def _strace_counts(path):
    counts = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            # "% time  seconds  usecs/call  calls  [errors]  syscall"
            row = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
            if row and row[2] != "total":
                counts[row[2]] = int(row[1])
    if not counts:
        raise BenchError("strace wrote no counts: may this user trace processes?")
    return counts


def allocations(lab, name, spec, work):
    """Calls of the allocator a unit, all threads and forked children, by our preloaded counter."""
    path = os.path.join(lab.folder, f"allocations.{name}.{time.monotonic_ns()}")
    with open(path, "wb") as file:
        file.write(bytes(8))
    library = os.path.join(lab.tools, "libbench_allocation_counter.so")
    proxy = Proxy(lab, name, spec, env={"LD_PRELOAD": library, "ALLOCATION_COUNT_FILE": path})
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ) as shared:
        def count():
            return struct.unpack("Q", shared)[0]

        if count() == 0:
            raise BenchError(f"{name} made no allocation: it is not linked with the C library's allocator")

        def during(load, last_at_least):
            before = count()
            took = timed_load(lab, proxy, load, last_at_least)
            return count() - before, took

        during(work.short, 0)  # fills the proxy's own caches and pools
        long_count, took = during(work.long, 0)
        short_count, _ = during(work.short, took)
    proxy.stop()
    lab.children.remove(proxy.child)
    return (long_count - short_count) / work.units
