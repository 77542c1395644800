#!/usr/bin/env python3
"""The redline's promise, over sockets: a surge of real requests (Azure's conversation trace of 2023) on four engines with
little KV memory. Every policy by itself drives them to preempt; with the redline none is driven there, no fewer requests
are completed than in the best run without, and output tokens per second of the engines' time until the last answer are
within 3 % of it. Medians of ROUNDS rounds; the fleet freezes once and is released once in each."""
import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

ENGINES = 4
SCALE = 5  # engine seconds a second
POLICIES = ("auto", "least_requests", "least_tokens", "power_of_two", "round_robin", "headroom")
GUARDED = ("auto", "headroom")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, patience_s=30):
    deadline = time.monotonic() + patience_s
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def series(page, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.split("{")[0].split(" ")[0] == name)


def run(binary, trace, policy, mode, options):
    """One run: what replay reported, with the engines' preemptions and the redline's freezes."""
    ports = [free_port() for _ in range(ENGINES)]
    port, admin = free_port(), free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([binary, "emulate", "--port", str(each), "--model", "m", "--step-preset", "8b-h100",
                                   "--kv-tokens", str(options.kv), "--slots", "256", "--time-scale", str(SCALE)], **quiet)
                 for each in ports]
    try:
        for each in ports:
            get(f"http://127.0.0.1:{each}/health")
        redline = ["--redline", mode, "--redline-level", options.level, "--redline-band", "0.2"] if mode != "off" else []
        processes.append(subprocess.Popen(
            [binary, "serve", "--port", str(port), "--admin-port", str(admin), "--threads", "1", "--seed", "1",
             "--health-interval", "200ms", "--pool-timeout", options.pool_timeout, "--policy", policy, *redline,
             "--worker-urls", *(f"http://127.0.0.1:{each}" for each in ports)], **quiet))
        get(f"http://127.0.0.1:{port}/ready")
        call = [binary, "replay", "--url", f"http://127.0.0.1:{port}", "--trace", trace, "--time-scale", str(options.compress),
                "--max-requests", str(options.requests), "--seed", "1", "--timeout", "600", "--json"]
        done = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.stderr)
        report = json.loads(done.stdout)
        page = get(f"http://127.0.0.1:{admin}/metrics")
        if mode == "on":
            deadline = time.monotonic() + 30
            while series(page, "evenkeel_redline_frozen") and time.monotonic() < deadline:
                time.sleep(0.1)
                page = get(f"http://127.0.0.1:{admin}/metrics")
        return {"policy": policy, "mode": mode, "completed": report["completed"]["requests"],
                "refused": report["failed"]["refusals"], "failed": report["failed"]["requests"],
                "tokens_per_s": report["completed"]["output_tokens_per_s"] / SCALE,
                "preemptions": sum(series(get(f"http://127.0.0.1:{each}/metrics"), "vllm:num_preemptions_total")
                                   for each in ports),
                "freezes": series(page, "evenkeel_redline_freezes_total"),
                "releases": series(page, "evenkeel_redline_releases_total")}
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kv", type=int, default=24000)
    parser.add_argument("--compress", type=float, default=60, help="the trace, in time")
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--pool-timeout", default="5s")
    parser.add_argument("--level", default="0.9999")
    parser.add_argument("--policies", nargs="*", default=list(POLICIES))
    options = parser.parse_args()
    trace = str(pathlib.Path(__file__).resolve().parents[1] / "data" / "azure-2023-conv.csv.gz")
    runs = {}
    for _ in range(options.rounds):
        for mode, policies in (("off", options.policies), ("on", [p for p in GUARDED if p in options.policies])):
            for policy in policies:
                result = run(options.binary, trace, policy, mode, options)
                print(json.dumps(result), flush=True)
                runs.setdefault((policy, mode), []).append(result)
    median = {key: {name: statistics.median(each[name] for each in all_) for name in
                    ("completed", "tokens_per_s", "preemptions")} for key, all_ in runs.items()}
    print(f"{'policy':16} {'redline':8} {'completed':>9} {'tokens/s':>9} {'preemptions':>11}")
    for (policy, mode), value in median.items():
        print(f"{policy:16} {mode:8} {value['completed']:9.0f} {value['tokens_per_s']:9.0f} {value['preemptions']:11.0f}")
    without = [value for (_, mode), value in median.items() if mode == "off"]
    missed = []
    for (policy, mode), value in median.items():
        if mode == "off" and value["preemptions"] == 0:
            missed.append(f"{policy} alone does not preempt: the surge is none")
        if mode == "off":
            continue
        if any(each["preemptions"] for each in runs[policy, mode]):
            missed.append(f"preemptions of {policy} with the redline")
        if any((each["freezes"], each["releases"]) != (1, 1) for each in runs[policy, mode]):
            missed.append(f"one freeze and one release of {policy}")
        if any(each["failed"] != sum(each["refused"].values()) for each in runs[policy, mode]):
            missed.append(f"an answer of {policy} failed without being refused")
        if value["completed"] < max(each["completed"] for each in without):
            missed.append(f"requests completed by {policy} with the redline")
        if value["tokens_per_s"] < 0.97 * max(each["tokens_per_s"] for each in without):
            missed.append(f"output tokens per second of {policy} with the redline")
    print("missed: " + "; ".join(missed) if missed else "met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
