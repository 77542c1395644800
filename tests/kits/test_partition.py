#!/usr/bin/env python3
"""Two routers that share four workers with the redline on are cut from each other, and each from half of the workers:
both sides keep serving within their floors and say whom they do not hear of, and when the cable is back nobody is
overrun. In network namespaces; the engines' own counts are the judge."""
import collections
import contextlib
import json
import subprocess
import urllib.request

from support import kit, network
from support.kit import cases, equal, until
from support.network import Network
from support.router import Emulator, Router, free_ports

ENGINE = ("--host", "0.0.0.0", "--step-preset", "8b-h100", "--kv-tokens", 12000, "--slots", 64, "--time-scale", 10)
LOAD = ("--synthetic", "--to", 60, "--prompt", "lognormal:800:0.8:3000", "--output", "lognormal:150:0.8:600")
ROUTER = ("--host", "0.0.0.0", "--admin-host", "0.0.0.0", "--threads", 1, "--seed", 1, "--pool-timeout", "60s",
          "--connect-timeout", "500ms", "--health-interval", "100ms", "--health-timeout", "500ms")
REDLINE = ("--redline", "on", "--redline-share", "0.5", "--redline-lease", "1s")


class Side:
    """A router, and the workers that stay with it."""

    def __init__(self, world, nodes):
        self.node = nodes[0]
        self.engines = [Emulator(world, "m", *ENGINE, host=node.from_kit, before=node.before) for node in nodes[1:]]
        self.names = [f"{node.address}:{engine.port}" for node, engine in zip(nodes[1:], self.engines)]
        self.log = world.folder / f"{self.node.address}.log"
        self.ports = free_ports(2)
        self.url = f"http://{self.node.address}:{self.ports[0]}"

    def start(self, world, names, flags, peer=None):
        self.known = names
        self.redline = "--redline" in flags
        if peer:
            flags = (*flags, "--peer-urls", peer, "--quantization", "none", "--peer-probe-interval", "200ms",
                     "--peer-probe-timeout", "500ms")
        self.router = Router(world.binary, [f"http://{name}" for name in names],
                             (*ROUTER, *flags, "--access-log", self.log), world.folder, self.ports,
                             host=self.node.from_kit, before=self.node.before)
        world.routers.append(self.router)

    def routable(self):
        return sorted(worker["name"] for worker in self.router.workers()
                      if worker["state"] == "routable" and worker["name"] in self.known)

    def siloed(self):
        """The workers that the router does not hear of."""
        page = self.router.admin("/metrics").decode()
        found = {line.split('"')[1] for line in page.splitlines()
                 if line.startswith("evenkeel_redline_worker_siloed{") and line.endswith(" 1")}
        return sorted(found.intersection(self.known))

    def lines(self, count):
        """Of the requests so far, once there are so many, in the order in which they ended."""
        def read():
            text = self.log.read_text() if self.log.exists() else ""
            found = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
            found = [line for line in found if line["endpoint"] == "/v1/chat/completions"]
            return found if len(found) >= count else None
        return until(read, f"{count} lines of the access log")

    def preemptions(self):
        total = 0
        for engine in self.engines:
            with urllib.request.urlopen(f"{engine.url}/metrics", timeout=10) as answer:
                page = answer.read().decode()
            total += sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines()
                         if line.startswith("vllm:num_preemptions_total"))
        return total


def fleet(world, *flags, peers=False):
    """Both sides of a whole network. Peers may send each other what they have no slot for."""
    net = Network(world, 3, 3)
    sides = [Side(world, nodes) for nodes in (net.left, net.right)]
    names = sides[0].names + sides[1].names
    for side, other in (sides, sides[::-1]):
        side.start(world, names, flags, other.url if peers else None)
    for side in sides:
        until(lambda side=side: side.router.answers("/ready"), "the router answers")
    returned(sides)
    return net, sides


@contextlib.contextmanager
def load(world, sides, requests, rate):
    """So many requests at each router, at once. The reports are there behind it."""
    calls = [subprocess.Popen([str(world.binary), "replay", "--url", side.router.url, *map(str, LOAD), "--rate",
                               str(rate), "--max-requests", str(requests), "--seed", str(seed), "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for seed, side in enumerate(sides, 3)]
    reports = []
    try:
        yield reports
        for call in calls:
            out, said = call.communicate(timeout=300)
            assert call.returncode in (0, 1), said[-500:]
            reports.append(json.loads(out))
    finally:
        for call in calls:
            call.kill()
            call.wait()


def served(report, requests, cut_short=0):
    """How many were answered, when all the others were refused by the redline, but for those cut short."""
    done, refused = report["completed"]["requests"], report["failed"]["refusals"]
    equal(set(refused) - {"redline"}, set(), "other refusals")
    equal(done + sum(refused.values()) + cut_short, requests, f"answered or refused ({report['failed']})")
    return done


def cut(net, sides):
    net.cut()
    for side, other in (sides, sides[::-1]):
        until(lambda side=side: side.routable() == sorted(side.names), "only the side's own workers are routable")
        if side.redline:
            until(lambda side=side, other=other: side.siloed() == sorted(other.names), "the others are not heard of")


def returned(sides):
    for side in sides:
        until(lambda side=side: not side.siloed(), "every worker is heard of again")
        until(lambda side=side: len(side.routable()) == 4, "every worker is routable again")


@cases({"surge, redline on": (REDLINE,), "surge, redline off, so that this can fail": ((),)})
def a_surge_while_cut(world, redline):
    requests = 200
    net, sides = fleet(world, *redline)
    cut(net, sides)
    with load(world, sides, requests, 300) as reports:
        pass
    for side, report in zip(sides, reports):
        done = served(report, requests)
        assert done >= requests / 2, f"{done} of {requests} were served: {report['failed']}"
        by_worker = collections.Counter(line["worker"] for line in side.lines(requests)
                                        if line["outcome"] == "completed")
        equal(sorted(by_worker), sorted(side.names), "who served")
    put_off = [side.preemptions() for side in sides]
    assert (max(put_off) == 0) == bool(redline), f"requests that engines had to put off: {put_off}"


@cases({"cut and return under load": (False,), "cut and return under load, peers": (True,)})
def cut_and_return(world, peers):
    requests = 600
    net, sides = fleet(world, *REDLINE, "--silence-timeout", "2s", peers=peers)
    with load(world, sides, requests, 60) as reports:
        for side in sides:
            side.lines(requests // 6)
        cut(net, sides)
        known = [len(side.lines(0)) for side in sides]
        alone = [side.lines(count + 80)[-50:] for side, count in zip(sides, known)]  # the log is a moment behind
        known = [len(side.lines(0)) for side in sides]
        net.heal()
        returned(sides)
        after = [side.lines(count + 100)[count:] for side, count in zip(sides, known)]
    for side, other, report, lonely, again in zip(sides, sides[::-1], reports, alone, after):
        # A stream that the cut went through ends with an error, and says so; all the others end well.
        done = served(report, requests, report["failed"]["error_event"])
        assert done > requests - 64, f"{done} of {requests} were served: {report['failed']}"
        equal({line["worker"] for line in lonely if line["outcome"] == "completed"} - set(side.names), set(), "served while cut")
        by_worker = collections.Counter(line["worker"] for line in again)
        # A fair share of the two is 50; they come back empty, so they may be given more, but not all, nor one of them most.
        back = [by_worker[name] for name in other.names]
        assert sum(back) <= 85 and max(back) <= 60, f"a herd to who returned: {by_worker}"
        late = {line["worker"] for line in side.lines(requests)[-200:]}
        equal(set(side.names + other.names) - late, set(), "who does not serve after the return")
        equal(side.preemptions(), 0, "requests that engines had to put off")


if __name__ == "__main__":
    network.enter()
    kit.main()
