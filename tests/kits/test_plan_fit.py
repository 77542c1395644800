#!/usr/bin/env python3
"""`evenkeel plan fit` and `plan reserve --from` on access logs, traces and points whose law is known, and on such as carry
no estimate: each is refused with its reason, by field or flag."""
import json
import math
import random
import subprocess

from support import kit
from support.kit import case, cases, equal

DATA = kit.pathlib.Path(__file__).parent.parent / "data"
AZURE = str(DATA / "azure-2023-conv.csv.gz")
TOKEN_S = 0.05
KV_BYTES = 327680


def call(world, *words):
    return subprocess.run([str(world.binary), "plan", *map(str, words)], capture_output=True, text=True, timeout=60)


def answer(world, *words, code=0):
    result = call(world, *words, "--json")
    equal(result.returncode, code, f"exit code of {words} ({result.stderr[-400:]})")
    return json.loads(result.stdout)


def line(ts, worker, output, outcome="completed", **more):
    record = {"v": 1, "ts": ts, "id": "x", "model": "m", "worker": worker, "client": "c", "endpoint": "/v1/completions",
              "stream": True, "outcome": outcome, "status": 200, "prompt_tokens": 1000, "prompt_tokens_from": "usage",
              "output_tokens": output, "output_tokens_from": "usage", "queue_ms": 500, "first_byte_ms": 700,
              "total_ms": 700 + 1e3 * TOKEN_S * (output - 1), "attempt": 1}
    record.update(more)
    return json.dumps(record)


def log_of(world, name, records):
    path = world.folder / name
    path.write_text("\n".join(records) + "\n")
    return str(path)


def specimen(index=2.2, seconds=9000, rate=0.8, workers=4):
    """A Poisson stream over equal workers with outputs of a Pareto law over 2000 tokens; a tenth is cut off."""
    draw = random.Random(5)
    at = 0.0
    while (at := at + draw.expovariate(rate)) < seconds:
        output = int(2000 * (1 - draw.random()) ** (-1 / index))
        worker = f"w{draw.randrange(workers)}"
        if draw.random() < 0.1:
            yield line(int(at * 1000), worker, max(1, int(draw.random() * output)), outcome="cancelled")
        else:
            yield line(int(at * 1000), worker, output)


def within(estimate, truth, what):
    assert estimate["low"] <= truth <= estimate["high"], f"{what}: {truth} is not within {estimate}"


@case
def a_log_tells_rate_token_time_tail_and_footprint(world):
    path = log_of(world, "log", specimen())
    said = answer(world, "fit", "--from", path, "--kv-bytes", KV_BYTES)
    equal((said["format"], said["nodes"], said["windows"]), ("access-log", 4, 99), "what was read")
    estimates = said["estimates"]
    within(estimates["rate_per_s"], 0.8, "rate")
    within(estimates["tail_index"], 2.2, "tail")
    within(estimates["dispersion_about_drift"], 1, "dispersion")
    within(estimates["correlation_of_pairs"], 0, "correlation between workers of a Poisson stream")
    assert abs(estimates["token_s"]["value"] - TOKEN_S) < 1e-6, estimates["token_s"]
    assert abs(estimates["prompt_gb"]["value"] - 1000 * KV_BYTES / 1e9) < 1e-9, estimates["prompt_gb"]
    share = said["cut_off"] / said["heavy"]
    assert 0.07 < share < 0.13, f"share cut off: {share}"
    for name, estimate in estimates.items():
        assert estimate["provenance"] and estimate["samples"] > 0, f"{name}: {estimate}"


@case
def a_reserve_is_planned_from_a_log(world):
    path = log_of(world, "log", specimen())
    flags = ("--from", path, "--kv-bytes", KV_BYTES, "--capacity-gb", 31.8)
    said = answer(world, "reserve", *flags, "--correlation", 0)
    equal((said["nodes"], round(said["capacity_gb"], 6)), (4, 127.2), "fleet")
    # Mean by hand, for nobody of the 90 % that are not cut off ends before 100 s: 0.8 * 90 arrivals, each P + sigma T/2.
    held = KV_BYTES / 1e9 * (1000 + 45 / TOKEN_S)
    assert 0.85 * 72 * held < said["mean_gb"] < 1.08 * 72 * held, said["mean_gb"]
    assert said["mean_gb"] < said["pooled_gb"] < said["siloed_gb"], said
    assert answer(world, "reserve", *flags, "--nodes", 8)["nodes"] == 8


@case
def pictures_are_written(world):
    tail, rate = world.folder / "tail.svg", world.folder / "rate.svg"
    answer(world, "fit", "--from", AZURE, "--token-ms", 66, "--kv-bytes", KV_BYTES, "--scale-time", 30, "--plot", tail,
           "--plot-rate", rate)
    for path in (tail, rate):
        assert "</svg>" in path.read_text(), path
    assert "tail index" in tail.read_text()
    equal(call(world, "fit", "--from", AZURE, "--plot", "/nowhere/x.svg").returncode, 2, "a picture that cannot be written")


def points(world, rows):
    path = world.folder / "points.csv"
    path.write_text("n,per_s\n" + "".join(f"{n},{x}\n" for n, x in rows))
    return str(path)


@case
def points_give_their_law_and_a_warning_past_half_of_its_peak(world):
    a, b = 0.05, 0.0005
    rows = [(n, 700 * n / (1 + a * (n - 1) + b * n * (n - 1))) for n in (1, 2, 4, 8, 16, 32, 64)]
    path = points(world, rows)
    peak = math.sqrt((1 - a) / b)
    said = answer(world, "fit", "--points", path, "--nodes", int(peak / 2))
    assert abs(said["peak"]["value"] - peak) < 1e-6 and abs(said["coherency"]["value"] - b) < 1e-12, said
    equal(said["warnings"], [], "warnings")
    equal(len(answer(world, "fit", "--points", path, "--nodes", int(peak / 2) + 1, code=1)["warnings"]), 1, "warnings")


@case
def what_a_log_cannot_carry_is_a_finding_with_its_reason(world):
    few = answer(world, "fit", "--from", log_of(world, "few", list(specimen())[:20]), code=1)
    equal(few["estimates"]["tail_index"], {"refused": "20 values; a tail wants at least 26"}, "tail of few")
    assert "windows; dispersion wants at least 20" in few["estimates"]["dispersion"]["refused"], few

    same = answer(world, "fit", "--from", log_of(world, "same", (line(1000 * i, "w", 100) for i in range(3000))), code=1)
    assert same["estimates"]["tail_index"]["refused"].startswith("all 3000 values are "), same

    flags = ("--from", log_of(world, "wild", specimen(index=1.4)), "--kv-bytes", KV_BYTES)
    wild = answer(world, "fit", *flags, code=1)
    assert any("is at or under 2" in reason for reason in wild["obstacles"]), wild["obstacles"]
    result = call(world, "reserve", *flags, "--capacity-gb", 31.8)
    equal(result.returncode, 2, "exit code of a plan with an infinite mean")
    assert "no finite mean" in result.stderr and "--context-tokens" in result.stderr, result.stderr
    equal(answer(world, "fit", *flags, "--context-tokens", 1_000_000)["obstacles"], [], "obstacles with a cap")


WRONG = {
    "nothing to fit": ((), "give --from or --points"),
    "both": (("--from", AZURE, "--points", AZURE), "excludes --"),
    "no file": (("--from", "/nowhere/log"), "/nowhere/log"),
    "scale-time nan": (("--from", AZURE, "--scale-time", "nan"), "--scale-time"),
    "kv-bytes under 0": (("--from", AZURE, "--kv-bytes", "-1"), "--kv-bytes"),
    "token-ms 0": (("--from", AZURE, "--token-ms", "0"), "--token-ms"),
    "tail-k too small": (("--from", AZURE, "--tail-k", "10"), "--tail-k"),
    "heavier than all": (("--from", AZURE, "--heavy-tokens", "100000"), "at least 100000 output tokens"),
    "a model that is not there": (("--from", AZURE, "--model", "x"), "--model"),
    "kv-bytes of points": (("--points", AZURE, "--kv-bytes", "5"), "--kv-bytes requires --from"),
    "points that are none": (("--points", AZURE), "--points"),
}


@cases(WRONG)
def wrong_flags_are_refused_by_name(world, words, named):
    result = call(world, "fit", *words)
    equal((result.returncode, result.stdout), (2, ""), f"exit code and stdout ({result.stderr})")
    assert named in result.stderr, f"{named} is not named: {result.stderr}"


@cases({"no point at one": ([(2, 5), (3, 6), (4, 7), (5, 8)], "no point at N = 1"),
        "too few": ([(1, 5), (2, 6), (3, 7)], "allowed: at least 4 at 3"),
        "not a number": ([(1, "nan"), (2, 6)], "per_s"),
        "under 1": ([(0, 5)], "field `n`"),
        "nothing": ([], "no point at N = 1")})
def wrong_points_are_refused_with_the_reason(world, rows, named):
    result = call(world, "fit", "--points", points(world, rows))
    equal((result.returncode, result.stdout), (2, ""), "exit code and stdout")
    assert named in result.stderr, f"{named} is not named: {result.stderr}"


@case
def a_damaged_line_is_named(world):
    lines = list(specimen())[:50]
    lines[17] = lines[17].replace('"output_tokens": ', '"output_tokens": -')
    path = log_of(world, "damaged", lines)
    result = call(world, "fit", "--from", path)
    equal(result.returncode, 2, "exit code")
    assert f"{path}:18: " in result.stderr and "output_tokens" in result.stderr, result.stderr


if __name__ == "__main__":
    kit.main()
