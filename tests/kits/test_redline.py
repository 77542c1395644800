#!/usr/bin/env python3
"""A surge on engines with little memory, over sockets: with the redline no engine has to put a request off, without it
they do; the fleet freezes once and is released once; whoever is refused is told why and when to come back. And a storm
of refusals is not made a larger one by retries."""
import json
import subprocess
import urllib.error
import urllib.request

from support import kit
from support.kit import case, cases, equal, until
from support.router import Emulator

ENGINES = 2
REQUESTS = 400
ENGINE = ("--step-preset", "8b-h100", "--kv-tokens", 12000, "--slots", 64, "--time-scale", 10)
SURGE = ("--synthetic", "--rate", 300, "--to", 60, "--prompt", "lognormal:800:0.8:3000", "--output",
         "lognormal:150:0.8:600", "--max-requests", REQUESTS, "--seed", 3)
ROUTER = ("--threads", 1, "--seed", 1, "--pool-timeout", "60s", "--health-interval", "200ms")


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def series(page, name):
    """The sum of a series over its labels."""
    lines = [line for line in page.splitlines() if line.split("{")[0].split(" ")[0] == name]
    assert lines, f"{name} is not shown"
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def preemptions(engines):
    return sum(series(get(f"{engine.url}/metrics"), "vllm:num_preemptions_total")
               for engine in engines)


def replay(world, router, *flags):
    call = [str(world.binary), "replay", "--url", router.url, *map(str, flags), "--json"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 1), result.stderr[-500:]
    return json.loads(result.stdout)


@cases({f"surge: {policy}": (policy,) for policy in ("least_requests", "headroom")})
def surge(world, policy):
    done = {}
    for mode in ("off", "on"):
        engines = [Emulator(world, "m", *map(str, ENGINE)) for _ in range(ENGINES)]
        log = world.folder / f"{policy}-{mode}.log"
        redline = ("--redline", "on", "--redline-band", "0.2") if mode == "on" else ()
        router = world.router(*engines, flags=(*ROUTER, "--policy", policy, *redline, "--access-log", log))
        report = replay(world, router, *SURGE)
        done[mode] = report["completed"]["requests"]
        refused = sum(report["failed"]["refusals"].values())
        equal(done[mode] + refused, REQUESTS, f"answered or refused ({report['failed']})")
        if mode == "off":
            assert preemptions(engines) > 0, "the surge is none: no engine preempts without the redline"
            continue
        equal(preemptions(engines), 0, "preemptions with the redline on")
        metrics = f"http://127.0.0.1:{router.admin_port}/metrics"
        until(lambda: series(get(metrics), "evenkeel_redline_frozen") == 0, "the fleet to be released")
        page = get(metrics)
        equal(series(page, "evenkeel_redline_freezes_total"), 1, "freezes")
        equal(series(page, "evenkeel_redline_releases_total"), 1, "releases")
        assert series(page, "evenkeel_redline_held_total") > 0, "nobody was held"
        lines = until(lambda: [json.loads(line) for line in log.read_text().splitlines(True) if line.endswith("\n")]
                      if log.read_text().count("\n") >= REQUESTS else None, "a line a request")
        placed = [line for line in lines if line.get("worker") and line["endpoint"] == "/v1/chat/completions"]
        assert all(line["scarcest"] in ("kv_memory", "slots", "prefill") for line in placed), "no verdict in the log"
    assert done["on"] >= done["off"], f"completed: {done}"


@case
def refusal_fields(world):
    """A frozen fleet tells a heavy request so."""
    engine = Emulator(world, "m", *map(str, ENGINE))
    flags = (*ROUTER, "--redline", "on", "--redline-reserve", "0.9", "--redline-frozen", "close")
    router = world.router(engine, flags=flags)
    metrics = f"http://127.0.0.1:{router.admin_port}/metrics"
    call = [str(world.binary), "replay", "--url", router.url, *map(str, SURGE), "--time-scale", "1", "--json"]
    load = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: "evenkeel_redline_frozen{" in get(metrics) and series(get(metrics), "evenkeel_redline_frozen") == 1,
              "the fleet to freeze")
        body = json.dumps({"model": "m", "max_tokens": 4000, "messages": [{"role": "user", "content": "hello"}]})
        request = urllib.request.Request(f"{router.url}/v1/chat/completions", body.encode(),
                                         {"Content-Type": "application/json", "X-Evenkeel-Heavy": "true"})
        try:
            urllib.request.urlopen(request, timeout=20)
            raise AssertionError("a heavy request was taken by a frozen fleet")
        except urllib.error.HTTPError as refused:
            equal(refused.code, 429, "status")
            equal(refused.headers["X-Evenkeel-Refusal"], "redline", "reason")
            assert 1 <= int(refused.headers["Retry-After"]) <= 59, "Retry-After"
            equal(json.loads(refused.read())["error"]["code"], "redline", "code")
    finally:
        load.terminate()
        load.wait()


@case
def storm(world):
    """Nine of ten attempts are refused."""
    engines = [Emulator(world, "m", "--step-preset", "8b-h100", "--time-scale", "50") for _ in range(4)]
    for engine in engines:
        body = json.dumps({"status": 503, "status_probability": 0.9}).encode()
        urllib.request.urlopen(f"{engine.url}/emulator/faults", body, timeout=10).read()
    router = world.router(*engines, flags=("--threads", 1, "--breaker-faults", 0, "--redline", "on"))
    replay(world, router, "--synthetic", "--rate", 200, "--to", 60, "--prompt", "fixed:50", "--output", "fixed:5",
           "--max-requests", 1000)
    states = [json.loads(get(f"{engine.url}/emulator/state")) for engine in engines]
    received = sum(state["received"] + state["faulted"] for state in states)
    assert received <= 1100, f"{received} attempts for 1,000 requests"
    assert received >= 1050, f"{received} attempts for 1,000 requests: the budget is not used"


if __name__ == "__main__":
    kit.main()
