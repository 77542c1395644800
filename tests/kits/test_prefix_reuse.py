#!/usr/bin/env python3
"""Prefix reuse live: 500 requests of conversations out of a public trace, one after the other, through the router to
emulated engines with prefix caches, told by the engines' own `cached_tokens`.

Same hits as simulated, in two ways. With caches that hold everything: each request finds, at the worker it went to,
exactly the tokens that a count over the trace's block ids says, and the recorded decisions can be made again. With
caches that do not: each worker finds in all exactly the tokens that `evenkeel simulate` gives for the
same requests in the same order; the policy is then one whose placements do not hang on the clock."""
import gzip
import json
import pathlib
import subprocess
import urllib.request

from support import kit
from support.kit import case, cases, equal, until
from support.router import Emulator

REQUESTS = 500
KV_BLOCK = 16
TRACE_BLOCK = 512
TRACE = pathlib.Path(__file__).parent.parent / "data" / "mooncake-conversation.jsonl.gz"
SCALE = "1000"  # engine seconds a second


def conversations(common=True):
    """Rows of the trace that go on from one another, in its order: REQUESTS of them, an hour of the engines' time apart,
    so that no two are ever in an engine together. All begin with the same block; `common` False: without it."""
    with gzip.open(TRACE, "rt") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if 1024 < row["input_length"] <= 12_000]
    turns = {}
    for row in rows:
        turns.setdefault(tuple(row["hash_ids"][:3]), []).append(row)
    many = {start for start, of in turns.items() if len(of) >= 3}
    chosen = [row for row in rows if tuple(row["hash_ids"][:3]) in many][:REQUESTS]
    equal(len(chosen), REQUESTS, "requests of conversations in the trace")
    rows = [{**row, "timestamp": place * 3_600_000, "output_length": min(row["output_length"], 40)}
            for place, row in enumerate(chosen)]
    if not common:
        rows = [{**row, "hash_ids": row["hash_ids"][1:], "input_length": row["input_length"] - TRACE_BLOCK} for row in rows]
    return rows


def write_trace(world, rows):
    path = world.folder / "conversations.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


class Cache:
    """What an endless prefix cache holds, by the ids of the trace: a KV block is known by the ids up to where it ends."""

    def __init__(self):
        self.held = set()

    def find(self, row):
        """Tokens that it has of this prompt, of which the last is always computed; takes all in."""
        ids, length = tuple(row["hash_ids"]), row["input_length"]
        blocks = [(ids[:((block + 1) * KV_BLOCK - 1) // TRACE_BLOCK + 1], block) for block in range(length // KV_BLOCK)]
        found = 0
        while found < (length - 1) // KV_BLOCK and blocks[found] in self.held:
            found += 1
        self.held.update(blocks)
        return found * KV_BLOCK


def engines(world, kv_tokens, count=4):
    return [Emulator(world, "m", "--step-preset", "8b-h100", "--prefix-cache", "--kv-tokens", kv_tokens, "--slots", 256,
                     "--time-scale", SCALE) for _ in range(count)]


def metric(router, name):
    """{labels: value} of a name on the router's metrics page."""
    lines = [line.rsplit(" ", 1) for line in router.admin("/metrics").decode().splitlines() if line.startswith(name)]
    return {key[len(name):]: float(value) for key, value in lines if key[len(name):][:1] in ("", "{")}


def caches_are_known(router):
    def known():
        blocks = metric(router, "evenkeel_worker_prefix_capacity_blocks")
        return blocks and all(blocks.values())

    until(known, "every cache is known of")


def replay(world, router, trace, log_path, requests=REQUESTS):
    """The lines of the access log, in the order of the requests."""
    call = [str(world.binary), "replay", "--url", router.url, "--trace", str(trace), "--time-scale", "1e6",
            "--concurrency", "1", "--json"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=400)
    equal(result.returncode, 0, f"exit code of replay ({result.stderr[-500:]})")
    equal(json.loads(result.stdout)["completed"]["requests"], requests, "requests completed")

    def written():
        lines = [json.loads(line) for line in log_path.read_text().splitlines(True) if line.endswith("\n")]
        answers = [line for line in lines if line["endpoint"] == "/v1/chat/completions"]
        return answers if len(answers) == requests else None

    return until(written, "a line a request")


@cases({"auto": ("auto", True), "longest_prefix": ("longest_prefix", False)})
def found_is_what_the_trace_has_in_common(world, policy, common):
    """One at a time nobody waits, so with a beginning that all share the default policy sends all to who has it."""
    rows = conversations(common)
    log, record = world.folder / "log", world.folder / "record"
    router = world.router(*engines(world, 8_000_000),
                          flags=("--threads", 1, "--seed", 1, "--policy", policy, "--access-log", log, "--record", record))
    caches_are_known(router)
    lines = replay(world, router, write_trace(world, rows), log)
    caches = {line["worker"]: Cache() for line in lines}
    equal(len(caches) > 1, not common, "several workers are used")
    truth = [caches[line["worker"]].find(row) for line, row in zip(lines, rows)]
    equal([line["prompt_tokens"] for line in lines], [row["input_length"] for row in rows], "prompt tokens")
    # vLLM does not say that it found nothing: what is silent before a worker has first told is none, too.
    equal([line.get("cached_tokens", 0) for line in lines], truth, "tokens found, of each request")
    one_cache = Cache()
    best = sum(one_cache.find(row) for row in rows)
    assert sum(truth) > 0.9 * best, f"{sum(truth)} tokens found of {best} that one cache for all would find"

    expected = [line["expected_hit_tokens"] for line in lines]
    off = sum(abs(guess - true) for guess, true in zip(expected, truth))
    assert off < 0.05 * sum(truth), f"off by {off} tokens of {sum(truth)}"
    equal(metric(router, "evenkeel_prefix_expected_hit_tokens_total"), {"": float(sum(expected))}, "expected in all")
    told = [line["cached_tokens"] for line in lines if "cached_tokens" in line]
    equal(metric(router, "evenkeel_prefix_told_hit_tokens_total"), {"": float(sum(told))}, "told in all")

    again = subprocess.run([str(world.binary), "retrace", str(record), "--json"], capture_output=True, text=True,
                           timeout=100)
    start = json.loads(again.stdout)["starts"][0]
    equal((again.returncode, start["placements"]), (0, REQUESTS), f"the same decisions made again ({start['difference']})")
    print(f"     {sum(truth)} tokens found of {best} of one cache's; expectations off by {off}")


@case
def under_pressure_the_engines_find_what_simulated_ones_find(world):
    kv_tokens = 250_000
    trace, log = write_trace(world, rows := conversations()), world.folder / "log"
    alive = engines(world, kv_tokens)
    router = world.router(*alive, flags=("--threads", 1, "--policy", "round_robin", "--access-log", log))
    lines = replay(world, router, trace, log)
    found, prompts = {}, {}
    for line, row in zip(lines, rows):
        assert "expected_hit_tokens" not in line, "round_robin makes nothing of hits: nothing is looked up"
        found[line["worker"]] = found.get(line["worker"], 0) + line.get("cached_tokens", 0)
        prompts[line["worker"]] = prompts.get(line["worker"], 0) + row["input_length"]
    call = [str(world.binary), "simulate", "--trace", str(trace), "--workers", "4", "--step-preset", "8b-h100", "--slots",
            "256", "--prefix-cache", "--kv-tokens", str(kv_tokens), "--policy", "round_robin", "--arrivals", "trace",
            "--steps", "0", "--seeds", "1", "--json"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=400)
    equal(result.returncode, 0, f"exit code of simulate ({result.stderr[-500:]})")
    run = json.loads(result.stdout)["runs"][0]["per_seed"][0]
    names = [engine.url.removeprefix("http://") for engine in alive]
    simulated = [worker["hit_rate"] * prompts[name] for worker, name in zip(run["workers"], names)]
    equal([worker["requests"] for worker in run["workers"]], [REQUESTS // 4] * 4, "requests of each worker")
    equal([found[name] for name in names], [round(tokens) for tokens in simulated], "tokens found, of each worker")
    endless = {name: Cache() for name in names}
    without = sum(endless[line["worker"]].find(row) for line, row in zip(lines, rows))
    assert sum(found.values()) < without, "nothing was evicted"
    print(f"     {sum(found.values())} tokens found, {without} if nothing were evicted")


@case
def a_restart_is_noticed_and_all_is_forgotten(world):
    rows = conversations()[:20]
    log = world.folder / "log"
    engine = engines(world, 8_000_000, 1)[0]
    router = world.router(engine, flags=("--threads", 1, "--access-log", log, "--health-interval", "0.05"))
    caches_are_known(router)
    trace = write_trace(world, rows)
    first = replay(world, router, trace, log, len(rows))
    blocks = metric(router, "evenkeel_worker_prefix_blocks")
    assert all(blocks.values()), blocks
    engine.process.kill()
    engine.process.wait()
    until(lambda: all(worker["state"] != "routable" for worker in router.workers()), "the worker is out")
    port = engine.url.rsplit(":", 1)[1]
    anew = subprocess.Popen([str(world.binary), "emulate", "--port", port, "--model", "m", "--step-preset", "8b-h100",
                             "--prefix-cache", "--kv-tokens", "8000000", "--time-scale", SCALE],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: sum(metric(router, "evenkeel_worker_prefix_forgotten_total").values()) == 1, "it was noticed")
        until(lambda: all(worker["state"] == "routable" for worker in router.workers()), "the worker is back")
        equal(list(metric(router, "evenkeel_worker_prefix_blocks").values()), [0.0], "blocks believed in")
        log.write_text("")
        again = replay(world, router, trace, log, len(rows))
        equal([line.get("cached_tokens", 0) for line in again], [line.get("cached_tokens", 0) for line in first],
              "tokens found")
    finally:
        anew.kill()
        anew.wait()


@case
def a_receipt_says_what_was_expected(world):
    router = world.router(*engines(world, 100_000, 2), flags=("--threads", 1))
    caches_are_known(router)
    body = json.dumps({"model": "m", "max_tokens": 2, "messages": [{"role": "user", "content": "word " * 2000}]})

    def ask():
        request = urllib.request.Request(router.url + "/v1/chat/completions", body.encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            usage = json.load(answer)["usage"]
            return answer.headers["X-Evenkeel-Worker"], int(answer.headers["X-Evenkeel-Expected-Hit-Tokens"]), usage

    first, expected, usage = ask()
    equal((expected, usage["prompt_tokens_details"]), (0, None), "of the first")
    for _ in range(3):
        worker, expected, usage = ask()
        equal(worker, first, "the worker that holds it")
        equal(usage["prompt_tokens_details"], {"cached_tokens": 1984}, "found")
        assert expected > 1500, expected


if __name__ == "__main__":
    kit.main()
