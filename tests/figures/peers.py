#!/usr/bin/env python3
"""Two boxes that lend each other capacity, over sockets: a router and an engine each, engines by rate table (18.18 tok/s
with one request running and 50.71 with two; 49.24 and 87.82), two slots, 111 tokens a request, a burst at one instant to
the slower box. The single box is measured in the same sitting, by a router of its own in front of the same engine.

What is held: N = 128 from nothing learned at least 131.6 tok/s; eight at once at least 112 and 1.7 times the single box,
none refused; four at once at least 97.4 and 1.88 times it, split evenly; then bursts of four back to back, none of them
kept from the peer, at least 96 tok/s on average. Medians of ROUNDS for four and eight. Engine seconds throughout."""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

TABLES = {"thor": (18.18, 50.71), "spark": (49.24, 87.82)}
TOKENS = 111
MODEL = "m"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def until(condition, what, patience_s=30):
    deadline = time.monotonic() + patience_s
    while True:
        try:
            if condition():
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            sys.exit(f"never came true: {what}")
        time.sleep(0.05)


def makespan_s(table, requests):
    """Equal requests into as many slots as the table has rates."""
    full, rest = divmod(requests, len(table))
    return full * len(table) * TOKENS / table[-1] + (rest * TOKENS / table[rest - 1] if rest else 0)


def tokens_per_s(at_thor, at_spark):
    wall = max(makespan_s(TABLES["thor"], at_thor), makespan_s(TABLES["spark"], at_spark))
    return (at_thor + at_spark) * TOKENS / wall


def optimum(requests):
    return max(tokens_per_s(n, requests - n) for n in range(requests + 1))


class Fleet:
    """The pair, and a router alone in front of the slower engine."""

    def __init__(self, binary, scale, folder):
        self.binary, self.scale, self.folder = binary, scale, pathlib.Path(folder)
        self.processes, self.logs = [], []
        engines = {name: self.engine(name) for name in TABLES}
        ports = {name: free_port() for name in TABLES}
        self.admin = {}
        for name, other in (("thor", "spark"), ("spark", "thor")):
            peer = f'[[peers]]\nname = "{other}"\nurl = "http://127.0.0.1:{ports[other]}"\nkind = "evenkeel"\n'
            self.router(name, ports[name], engines[name], peer)
        self.pooled = ports["thor"]
        self.boxes = ports
        self.single = free_port()
        self.router("single", self.single, engines["thor"], "")
        for port in (*ports.values(), self.single):
            until(lambda port=port: get(f"http://127.0.0.1:{port}/ready"), f"the router on {port} is ready")
        for name in TABLES:
            until(lambda name=name: self.meets(name), f"the peer of {name} is routable")

    def start(self, name, *call):
        log = open(self.folder / f"{name}.log", "wb")
        self.logs.append(log)
        self.processes.append(subprocess.Popen([self.binary, *call], stdout=log, stderr=log))

    def engine(self, name):
        port = free_port()
        self.start(f"engine-{name}", "emulate", "--port", str(port), "--model", MODEL, "--rate-table",
                   ",".join(map(str, TABLES[name])), "--output-tokens", f"fixed:{TOKENS}", "--slots", "2", "--max-model-len", "32768",
                   "--time-scale", str(self.scale))
        until(lambda: get(f"http://127.0.0.1:{port}/health") is not None, f"the engine of {name} answers")
        return port

    def router(self, name, port, engine, peer):
        """Every duration of the exchange between routers in engine seconds."""
        self.admin[name] = free_port()
        file = self.folder / f"{name}.toml"
        options = f"""[peer_options]
quantization = "none"
probe_interval = "{5000 / self.scale}ms"
probe_timeout = "{3000 / self.scale}ms"
slack = "{300 / self.scale}ms"
fresh = "{250 / self.scale}ms"
""" if peer else ""
        file.write_text(f"""host = "127.0.0.1"
port = {port}
admin_port = {self.admin[name]}
threads = 1
seed = 1
{f'self_name = "{name}"' if peer else ""}
[[workers]]
name = "{name}-engine"
url = "http://127.0.0.1:{engine}"
max_in_flight = 2
{peer}
{options}""")
        self.start(f"router-{name}", "serve", "--config", str(file))

    def meets(self, name):
        """Its own engine and the peer, routable."""
        workers = json.loads(get(f"http://127.0.0.1:{self.admin[name]}/workers"))
        return len(workers) == 2 and all(worker["state"] == "routable" for worker in workers)

    def burst(self, port, requests):
        """`requests` at one instant: tok/s of the engines' time, answers by worker, those that were no whole answer."""
        clients = [Client(port, number) for number in range(requests)]
        barrier = threading.Barrier(requests + 1)
        for client in clients:
            client.start(barrier)
        barrier.wait()
        for client in clients:
            client.thread.join()
        wall = (max(client.ended for client in clients) - min(client.sent for client in clients)) * self.scale
        split, wrong = {}, []
        for client in clients:
            if client.whole():
                split[client.worker()] = split.get(client.worker(), 0) + 1
            else:
                wrong.append(client.answer[:200].decode(errors="replace"))
        return requests * TOKENS / wall, split, wrong

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for log in self.logs:
            log.close()


class Client:
    """One streamed request on a connection that is open before the burst."""

    def __init__(self, port, number):
        body = json.dumps({"model": MODEL, "stream": True, "max_tokens": TOKENS,
                           "messages": [{"role": "user", "content": f"{time.monotonic_ns()} {number}"}]})
        self.request = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.answer, self.sent, self.ended, self.thread = b"", 0, 0, None

    def start(self, barrier):
        self.thread = threading.Thread(target=self.run, args=(barrier,))
        self.thread.start()

    def run(self, barrier):
        pieces = []
        barrier.wait()
        self.sent = time.monotonic()
        with self.socket:
            self.socket.sendall(self.request)
            while piece := self.socket.recv(65536):
                pieces.append(piece)
                self.ended = time.monotonic()
        self.answer = b"".join(pieces)

    def whole(self):
        return self.answer.startswith(b"HTTP/1.1 200") and b"data: [DONE]" in self.answer

    def worker(self):
        for line in self.answer.split(b"\r\n\r\n", 1)[0].decode().split("\r\n"):
            if line.lower().startswith("x-evenkeel-worker:"):
                return line.split(":", 1)[1].strip()
        return "?"


class Book:
    """What was measured, beside what it could have been and what is asked."""

    def __init__(self):
        self.rows, self.missed = [], []

    def add(self, name, requests, results, bound, even_split=False):
        rates = [rate for rate, _, _ in results]
        rate = statistics.median(rates)
        best = optimum(requests)
        splits = [(split.get("thor-engine", 0), split.get("spark", 0)) for _, split, _ in results]
        wrong = [each for _, _, wrong in results for each in wrong]
        self.rows.append({"case": name, "requests": requests, "rounds": len(results), "tokens_per_s": rate,
                          "each": rates, "splits": splits, "optimum": best, "efficiency": rate / best, "bound": bound,
                          "failed": len(wrong)})
        if bound and rate < bound:
            self.missed.append(f"{name}: {rate:.2f} tok/s, asked for {bound}")
        if wrong:
            self.missed.append(f"{name}: {len(wrong)} answers that are none, such as {wrong[0]}")
        if even_split and any(split != (2, 2) for split in splits):
            self.missed.append(f"{name}: a split that is not 2/2 among {splits}")
        return rate

    def ratio(self, name, value, bound):
        self.rows.append({"case": name, "ratio": value, "bound": bound})
        if value < bound:
            self.missed.append(f"{name}: {value:.3f}, asked for {bound}")

    def text(self):
        lines = [f"{'case':34} {'tok/s':>8} {'asked':>7} {'optimum':>8} {'efficiency':>10}  splits"]
        for row in self.rows:
            if "ratio" in row:
                lines.append(f"{row['case']:34} {row['ratio']:8.3f} {row['bound']:7}")
                continue
            seen = sorted(set(row["splits"]), key=row["splits"].count, reverse=True)
            splits = ", ".join(f"{at_thor}/{at_spark} ({row['splits'].count((at_thor, at_spark))} x)"
                               for at_thor, at_spark in seen[:4])
            lines.append(f"{row['case']:34} {row['tokens_per_s']:8.2f} {row['bound'] or '':7} {row['optimum']:8.2f} "
                         f"{row['efficiency']:10.3f}  {splits}")
        return "\n".join(lines)


def measure(fleet, options, book):
    """D2 first: nothing is learned yet."""
    book.add("D2 128 from nothing learned", 128, [fleet.burst(fleet.pooled, 128)], 131.6)
    ratios = {}
    for case, requests, asked in (("A2 8 at once", 8, 112), ("H1 4 at once", 4, 97.4)):
        single, pooled = [], []
        for _ in range(options.rounds):
            single.append(fleet.burst(fleet.single, requests))
            pooled.append(fleet.burst(fleet.pooled, requests))
        alone = statistics.median(rate for rate, _, _ in single)
        book.rows.append({"case": f"the single box, {requests} at once", "requests": requests, "rounds": len(single),
                          "tokens_per_s": alone, "each": [rate for rate, _, _ in single],
                          "splits": [(requests, 0)] * len(single), "optimum": tokens_per_s(requests, 0),
                          "efficiency": alone / tokens_per_s(requests, 0), "bound": None, "failed": 0})
        ratios[requests] = book.add(case, requests, pooled, asked, even_split=requests == 4) / alone
    book.ratio("B1 8 at once to the single box", ratios[8], 1.7)
    book.ratio("B2 4 at once to the single box", ratios[4], 1.88)
    bursts = [fleet.burst(fleet.pooled, 4) for _ in range(options.bursts)]
    mean = statistics.fmean(rate for rate, _, _ in bursts)
    suppressed = sum(1 for _, split, _ in bursts if split.get("spark", 0) == 0)
    book.add(f"G1 {options.bursts} bursts of 4, the median", 4, bursts, None)
    book.rows.append({"case": "G1 their mean", "requests": 4, "rounds": len(bursts), "tokens_per_s": mean, "each": [],
                      "splits": [], "optimum": optimum(4), "efficiency": mean / optimum(4), "bound": 96,
                      "suppressed": suppressed, "failed": 0})
    if mean < 96:
        book.missed.append(f"G1: {mean:.2f} tok/s on average, asked for 96")
    if suppressed:
        book.missed.append(f"G1: {suppressed} of {len(bursts)} bursts were kept from the peer")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--scale", type=float, default=4, help="engine seconds a second, at most 4")
    parser.add_argument("--rounds", type=int, default=5, help="of four and of eight at once")
    parser.add_argument("--bursts", type=int, default=100, help="back to back")
    parser.add_argument("--keep", help="folder for configurations and logs")
    options = parser.parse_args()
    if not 0 < options.scale <= 4:
        sys.exit(f"--scale is {options.scale}: allowed is over 0 to 4")
    load_before = os.getloadavg()
    book = Book()
    with tempfile.TemporaryDirectory(prefix="evenkeel-peers-") as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        fleet = Fleet(options.binary, options.scale, folder)
        try:
            measure(fleet, options, book)
        finally:
            fleet.close()
    print(json.dumps({"scale": options.scale, "cores": os.cpu_count(), "load_before": load_before,
                      "load_after": os.getloadavg(), "rows": book.rows, "missed": book.missed}))
    print(book.text())
    print(f"load of the machine, one minute: {load_before[0]:.1f} before, {os.getloadavg()[0]:.1f} at the end, "
          f"{os.cpu_count()} cores")
    for each in book.missed:
        print(f"missed: {each}")
    sys.exit(1 if book.missed else 0)


if __name__ == "__main__":
    main()
