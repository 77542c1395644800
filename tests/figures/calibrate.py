#!/usr/bin/env python3
"""How near `evenkeel calibrate` comes to the rate table of an emulated engine, over sockets: the knee that the table has,
and every level within 4 % of what the table says for so many requests. One line a level: measured, table, error."""
import argparse
import json
import socket
import subprocess
import sys
import time
import urllib.request

TABLES = {"thor": ("18.18,50.71", 2), "spark": ("49.24,87.82", 2), "three slots": ("20,38,54", 3),
          "six slots": ("15,29,42,54,65,75", 6)}
TOLERANCE = 0.04


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url):
    for _ in range(600):
        try:
            return urllib.request.urlopen(url, timeout=10).read()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} does not answer")


def measure(options, table):
    rates = [float(rate) for rate in table.split(",")]
    port = free_port()
    engine = subprocess.Popen([options.binary, "emulate", "--port", str(port), "--model", "m", "--rate-table", table,
                               "--slots", str(len(rates)), "--time-scale", str(options.scale)], stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/health")
        run = subprocess.run([options.binary, "calibrate", "--url", f"http://127.0.0.1:{port}", "--ttft-bound-s", "60",
                              "--max-tokens", str(options.tokens), "--json"], capture_output=True, text=True, check=True)
    finally:
        engine.kill()
        engine.wait()
    return json.loads(run.stdout), rates


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--scale", type=float, default=4, help="engine seconds a second")
    parser.add_argument("--tokens", type=int, default=111)
    options = parser.parse_args()
    good = True
    for name, (table, knee) in TABLES.items():
        report, rates = measure(options, table)
        good = good and (report["slots"], report["reason"]) == (knee, "plateau")
        print(f"{name}: {report['slots']} slots ({report['reason']}), the table has {knee}")
        for row in report["levels"]:
            true = rates[min(row["level"], len(rates)) - 1]
            measured = row["tokens_per_s"] / options.scale
            error = measured / true - 1
            good = good and abs(error) <= TOLERANCE
            print(f"  level {row['level']:2}: {measured:7.2f} tok/s, table {true:7.2f}, {100 * error:+5.2f} %, "
                  f"first token {row['ttft_s'] * options.scale:6.3f} s")
    return 0 if good else 1


sys.exit(main())
