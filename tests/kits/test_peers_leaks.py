#!/usr/bin/env python3
"""Ten thousand mixed requests (--requests) to two routers that lend each other capacity, over engines that refuse, fail,
die and stop listening, from clients that leave at every stage: no broken stream looks whole, each request has one line
in the log of the router that it came to, and at the end the books of both are empty and both serve. (G8)"""
import asyncio
import collections
import json

from support import kit
from support.chaos import TRUE_ENDS, UNNAMED, ChaosWorkers, draw, play
from support.kit import case, equal, until
from support.peers import books_are_empty, boxes, burst, chat, split

SEED = 8
CONCURRENCY = 48  # at each router
FLAGS = ("--pool-requests", 60, "--pool-timeout", "5s", "--threads", 2, "--retry-budget", 0.5, "--breaker-open", "100ms",
         "--breaker-cap", "400ms", "--first-byte-timeout", "3s", "--silence-timeout", "3s")
kit.option("--requests", type=int, default=10_000, metavar="N", help="in all; default: 10000")


class Url:
    def __init__(self, url):
        self.url = url


async def play_both(pair, halves):
    return await asyncio.gather(*(play(box.router.port, plans, CONCURRENCY) for box, plans in zip(pair, halves)))


def check(plan, seen, tally):
    if seen.left:
        tally["left"] += 1
        return
    if plan.stream and seen.status == 200 and not seen.complete:
        assert TRUE_ENDS[plan.path] not in seen.body, f"a broken stream with a true end: {plan}, {seen}"
        tally["broken streams"] += 1
        return
    tally[f"{seen.status // 100}xx"] += 1


def read(log):
    return [json.loads(line) for line in log.read_text().splitlines(True) if line.endswith("\n")]


def lines_of_clients(log):
    return sum("from_peer" not in line for line in read(log))


@case
def g8_nothing_is_left_in_the_books_of_either_router(world):
    workers = ChaosWorkers(world, 2, SEED)
    pair = boxes(world, *map(Url, workers.urls), flags=FLAGS, logs=True, slots=6)
    plans = [draw(number, SEED) for number in range(world.options.requests)]
    halves = plans[::2], plans[1::2]
    workers.become("rough")
    seen = asyncio.run(play_both(pair, halves))
    workers.become("calm")
    tally = collections.Counter()
    for plans_of, seen_of in zip(halves, seen):
        for plan in plans_of:
            check(plan, seen_of[plan.number], tally)
    print(f"     {dict(tally)}; {[box.metric('evenkeel_peer_sent_back_total') for box in pair]} sent back")
    for what in ("left", "broken streams", "2xx", "4xx", "5xx"):
        assert tally[what] > 0.005 * len(plans), f"the mix has lost its {what}: {tally}"
    books_are_empty(pair)
    forwarded = 0
    for at in range(2):
        log = world.folder / f"box-{at}.log"
        until(lambda log=log, at=at: lines_of_clients(log) >= len(halves[at]), "a line for each request")
        lines = read(log)
        forwarded += sum("from_peer" in line for line in lines)
        own = collections.Counter(line["id"] for line in lines if "from_peer" not in line)
        wrong = [(plan, own[plan.id]) for plan in halves[at] if plan.kind not in UNNAMED and own[plan.id] != 1]
        assert not wrong, f"{len(wrong)} requests without exactly one line: {wrong[:3]}"
    assert forwarded > 0.01 * len(plans), f"only {forwarded} were forwarded"
    for box in pair:
        # A breaker that is half open waits for a request to be tried with.
        until(lambda box=box: all(worker["state"] in ("routable", "trial") for worker in box.router.workers()),
              "all may be used again")


if __name__ == "__main__":
    kit.main()
