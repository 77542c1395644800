#!/usr/bin/env python3
"""`evenkeel calibrate` over sockets: what reaches the engine and what reaches nobody, what ends it, what it writes and
what the router makes of that. How near the measured rates are to an engine's table is for tests/figures/calibrate.py."""
import http.client
import http.server
import json
import os
import socket
import stat
import subprocess
import threading
import urllib.parse
import urllib.request

from support import kit
from support.kit import case, cases, equal, until
from support.router import Emulator, free_port

# Two slots, with two requests twelve times as fast as with one, and a step must gain threefold: a busy machine would have
# to stand still for longer than a level is measured to move the knee.
TWO_SLOTS = ("--rate-table", "5,60", "--slots", 2, "--time-scale", 5)
FLAGS = ("--ttft-bound-s", 60, "--min-relative-gain", 2, "--max-tokens", 24)


def two_slots_at(scale):
    return (*TWO_SLOTS[:-1], scale)


def calibrate(world, *words, flags=FLAGS):
    call = [str(world.binary), "calibrate", *map(str, flags), *map(str, words)]
    return subprocess.run(call, capture_output=True, text=True, timeout=240)


def good(world, *words, flags=FLAGS):
    """The JSON of a run that ends with 0."""
    result = calibrate(world, "--json", *words, flags=flags)
    equal(result.returncode, 0, f"exit code ({result.stderr[-400:]})")
    return json.loads(result.stdout)


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def counter(engine, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in fetch(engine.url + "/metrics").splitlines()
               if line.split("{")[0].split(" ")[0] == name)


def succeeded(engine):
    return int(counter(engine, "vllm:request_success_total"))


def state(engine):
    """What is true of the emulated engine, whatever its gauges show."""
    return json.loads(fetch(engine.url + "/emulator/state"))


def open_requests(engine):
    return state(engine)["running"] + state(engine)["waiting"]


def sent_by(report):
    """Requests of a run: of each level what warms it up, what is measured and what is in service at its end."""
    return sum(row["requests"] + 3 * row["level"] - 1 for row in report["levels"])


class Foreign:
    """Somebody else's requests to an engine, streams that are open until closed."""

    def __init__(self, engine, count=1, words=4, tokens=4000):
        body = json.dumps({"model": "m", "stream": True, "max_tokens": tokens, "ignore_eos": True,
                           "messages": [{"role": "user", "content": "other " * words}]})
        self.connections = []
        for _ in range(count):
            connection = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(engine.url).port, timeout=60)
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            self.connections.append(connection)

    def close(self):
        for connection in self.connections:
            connection.close()


class RecordingEngine:
    """Answers every request at once, and keeps what it was asked."""

    def __init__(self, events=4):
        engine = self
        self.bodies, self.paths = [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                engine.paths.append(self.path)
                if self.path == "/v1/models":
                    return self.answer(200, "application/json", b'{"data":[{"id":"m","owned_by":"somebody"}]}')
                return self.answer(404, "text/plain", b"")

            def do_POST(self):
                engine.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                event = b'data: {"choices":[{"index":0,"delta":{"content":"word"}}]}\n\n'
                self.answer(200, "text/event-stream", event * events + b"data: [DONE]\n\n")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@case
def c1_two_slots_are_found_and_every_request_is_the_engines(world):
    engine = Emulator(world, "m", *TWO_SLOTS)
    report = good(world, "--url", engine.url)
    equal((report["slots"], report["reason"], report["usable"]), (2, "plateau", True), "knee")
    assert {1, 2, 4} <= {row["level"] for row in report["levels"]}, report["levels"]
    for row in report["levels"]:
        assert row["requests"] >= 4 * row["level"], row
    equal(report["fingerprint"]["served_id"], "m", "served id")
    equal(report["fingerprint"]["runtime"], "vllm", "runtime")
    assert report["fingerprint"]["max_model_len"] > 0 and report["fingerprint"]["version"], report["fingerprint"]
    least = sum(row["requests"] + row["level"] for row in report["levels"])
    assert least <= succeeded(engine) <= sent_by(report), f"{least} <= {succeeded(engine)} <= {sent_by(report)}"


@case
def c4_a_prefix_cache_finds_nothing_of_any_prompt(world):
    engine = Emulator(world, "m", "--step-preset", "8b-h100", "--prefix-cache", "--slots", 2)
    for _ in range(2):  # nor of an earlier run
        good(world, "--url", engine.url, flags=("--ttft-bound-s", 60, "--min-relative-gain", 5, "--schedule", "1,2"))
    assert counter(engine, "vllm:prefix_cache_queries_total") > 1000, "prompts were looked up"
    equal(counter(engine, "vllm:prefix_cache_hits_total"), 0, "tokens found in the prefix cache")
    for _ in range(2):  # the counter can count
        body = json.dumps({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "again " * 100}]})
        urllib.request.urlopen(urllib.request.Request(engine.url + "/v1/chat/completions", body.encode(),
                                                      {"Content-Type": "application/json"}), timeout=30).read()
    assert counter(engine, "vllm:prefix_cache_hits_total") > 0, "equal prompts are found"


@case
def c4_no_two_prompts_begin_alike(world):
    engine = RecordingEngine()
    world.processes.append(engine)
    for _ in range(2):
        result = calibrate(world, "--url", engine.url, "--schedule", "1,2,3", flags=("--ttft-bound-s", 60))
        assert result.returncode in (0, 1), result.stderr
    prompts = [body["messages"][0]["content"] for body in engine.bodies]
    assert len(prompts) >= 2 * 5, f"{len(prompts)} prompts"
    equal(len({prompt[:16] for prompt in prompts}), len(prompts), "different beginnings")
    for body in engine.bodies:
        equal((body["model"], body["stream"], body["max_tokens"]), ("m", True, 128), "of a request")
        assert "ignore_eos" not in body, "an engine of no known kind is sent nothing that is not OpenAI's"


@case
def c5_nobody_but_the_worker_is_sent_anything(world):
    engine, other = (Emulator(world, "m", *TWO_SLOTS) for _ in range(2))
    router = world.router(engine, other)
    name = next(worker["name"] for worker in router.workers() if worker["url"] == engine.url)
    def came():
        return sum(float(line.rsplit(" ", 1)[1]) for line in router.admin("/metrics").decode().splitlines()
                   if line.startswith("evenkeel_requests_total"))

    before = came()
    report = good(world, "--router", f"http://127.0.0.1:{router.admin_port}", "--worker", name)
    equal(report["url"], engine.url, "what was measured")
    assert succeeded(engine) > 0, "requests to the engine"
    equal(state(other)["received"], 0, "requests to the other engine")
    equal(came(), before, "requests that came to the router")


@case
def a_router_is_no_engine(world):
    engine = Emulator(world, "m", *TWO_SLOTS)
    router = world.router(engine)
    result = calibrate(world, "--url", router.url)
    equal((result.returncode, result.stdout), (1, ""), "exit code and stdout")
    assert "this is a router" in result.stderr, result.stderr
    equal(state(engine)["received"], 0, "requests to the engine")


@case
def foreign_load_before_it_begins_stops_it(world):
    engine = Emulator(world, "m", *two_slots_at(1))
    foreign = Foreign(engine, 3)
    until(lambda: counter(engine, "vllm:num_requests_running") == 2, "others are being served")
    result = calibrate(world, "--url", engine.url)
    served = state(engine)["completed"]
    foreign.close()
    equal((result.returncode, result.stdout), (1, ""), "exit code and stdout")
    assert "others use the engine: the engine has 2 requests running and 1 waiting, 3 more than ours" in result.stderr, \
        result.stderr
    equal(served, 0, "requests that were served whole")


@case
def a_gauge_that_stands_still_after_others_have_left_is_no_load(world):
    engine = Emulator(world, "m", *TWO_SLOTS)
    foreign = Foreign(engine, tokens=100_000)
    until(lambda: counter(engine, "vllm:num_requests_running") == 1, "another is being served")
    foreign.close()
    until(lambda: open_requests(engine) == 0, "it has left")
    equal(good(world, "--url", engine.url)["slots"], 2, "slots")


def run_beside(world, engine, do, *words):
    """A run that would last minutes; `do` is done once its first request runs."""
    ended = []
    thread = threading.Thread(target=lambda: ended.append(calibrate(world, "--url", engine.url, *words, flags=(
        "--ttft-bound-s", 60, "--max-tokens", 400))))
    thread.start()
    until(lambda: counter(engine, "vllm:num_requests_running") >= 1, "it runs")
    do()
    thread.join()
    return ended[0]


@case
def foreign_load_in_between_ends_it(world):
    engine = Emulator(world, "m", *two_slots_at(2))
    kept = world.folder / "kept.json"
    kept.write_text("as it was")
    others = []
    result = run_beside(world, engine, lambda: others.append(Foreign(engine, 3)), "--apply", kept)
    for each in others:
        each.close()
    equal((result.returncode, result.stdout), (1, ""), "exit code and stdout")
    assert "others use the engine: " in result.stderr, result.stderr
    equal(kept.read_text(), "as it was", "the file")
    until(lambda: open_requests(engine) == 0, "requests were given up")


@case
def short_foreign_requests_are_seen_by_the_engines_count(world):
    engine = Emulator(world, "m", *two_slots_at(100))

    def send():
        for _ in range(3):  # done before anybody looks twice
            body = json.dumps({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "other " * 800}]})
            urllib.request.urlopen(urllib.request.Request(engine.url + "/v1/chat/completions", body.encode(),
                                                          {"Content-Type": "application/json"}), timeout=60).read()

    result = run_beside(world, engine, send)
    equal((result.returncode, result.stdout), (1, ""), "exit code and stdout")
    assert "others use the engine: " in result.stderr, result.stderr


@case
def c3_what_still_gains_at_the_top_is_not_written(world):
    engine = Emulator(world, "m", *TWO_SLOTS)
    path = world.folder / "none.json"
    result = calibrate(world, "--url", engine.url, "--schedule", "1,2", "--apply", path)
    equal((result.returncode, result.stdout), (1, ""), "exit code and stdout")
    assert "not plateaued: the highest level measured, 2, still gained" in result.stderr, result.stderr
    equal(os.listdir(world.folder), [name for name in os.listdir(world.folder) if name.endswith(".log")], "files")
    shown = calibrate(world, "--url", engine.url, "--schedule", "1,2", "--json")
    equal((shown.returncode, json.loads(shown.stdout)["usable"]), (1, False), "without --apply it is shown")


@case
def no_level_within_the_bound_is_not_written(world):
    engine = Emulator(world, "m", *two_slots_at(1))
    path = world.folder / "none.json"
    result = calibrate(world, "--url", engine.url, "--apply", path, flags=("--ttft-bound-s", 0.001, "--max-tokens", 4))
    equal((result.returncode, result.stdout, path.exists()), (1, "", False), "exit code, stdout, file")
    assert "no level is within the bound of 0.001 s to a first token: " in result.stderr, result.stderr


NONSENSE = {flag: [(flag, value) for value in values] for flag, values in {
    "--ttft-bound-s": ("nan", "inf", "-inf", "0", "-1", "", "soon"),
    "--min-relative-gain": ("nan", "inf", "0", "-0.1", "much"),
    "--max-tokens": ("nan", "inf", "0", "-1", "1.5", "99999999999"),
    "--timeout": ("nan", "inf", "0", "-1"),
    "--schedule": ("", "0", "0,1", "-1", "2,1", "1,1", "nan", "inf", "1.5", "1,,2", "1,9999"),
}.items()}


@cases({flag: (pairs,) for flag, pairs in NONSENSE.items()})
def c7_nonsense_is_refused_before_any_traffic(world, pairs):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        for flag, value in pairs:
            bound = () if flag == "--ttft-bound-s" else ("--ttft-bound-s", 5)
            result = calibrate(world, "--url", f"http://127.0.0.1:{listener.getsockname()[1]}", f"{flag}={value}",
                               flags=bound)
            equal((result.returncode, result.stdout), (2, ""), f"exit code and stdout of {flag}={value}")
            assert flag in result.stderr, f"{flag}={value}: {result.stderr}"
        try:
            listener.accept()
            raise AssertionError("somebody was called")
        except BlockingIOError:
            pass


@cases({"neither": ((), "--url"), "both": (("--url", "http://a", "--router", "http://b", "--worker", "w"), "--router"),
        "router alone": (("--router", "http://b"), "--worker"), "worker alone": (("--worker", "w"), "--router"),
        "https": (("--url", "https://a", "--ttft-bound-s", 1), "--url: "), "no bound": (("--url", "http://a"), "--ttft-bound-s"),
        "unwritable": (("--url", "http://a", "--ttft-bound-s", 1, "--apply", "/nonexistent/a.json"), "--apply")})
def usage_is_told(world, words, flag):
    result = calibrate(world, *words, flags=() if "--url" in words else ("--ttft-bound-s", 1))
    equal((result.returncode, result.stdout), (2, ""), "exit code and stdout")
    assert flag in result.stderr, result.stderr


@case
def nothing_but_a_file_is_replaced(world):
    pipe, link, target = world.folder / "pipe", world.folder / "link.json", world.folder / "target.json"
    os.mkfifo(pipe)
    result = calibrate(world, "--url", "http://127.0.0.1:9", "--apply", pipe)
    equal((result.returncode, result.stdout), (2, ""), "exit code and stdout")
    assert "it is no file" in result.stderr and pipe.is_fifo(), result.stderr
    target.write_text("old")
    link.symlink_to(target)
    engine = Emulator(world, "m", *TWO_SLOTS)
    result = calibrate(world, "--url", engine.url, "--schedule", "1,2,4", "--apply", link)
    equal(result.returncode, 0, f"exit code ({result.stderr})")
    assert link.is_symlink() and json.loads(target.read_text())["url"] == engine.url, target.read_text()


def start_engine(world, port, *flags):
    """Unlike Emulator at a port that is said, so that another can take its place."""
    with open(world.folder / f"engine-{port}.log", "ab") as log:
        process = subprocess.Popen([str(world.binary), "emulate", "--port", str(port), "--model", "m",
                                    *map(str, TWO_SLOTS), *map(str, flags)], stdout=log, stderr=log)

    class Handle:
        url = f"http://127.0.0.1:{port}"

        @staticmethod
        def close():
            process.kill()
            process.wait()

    world.processes.append(Handle)

    def answers():
        try:
            return bool(fetch(Handle.url + "/health") is not None)
        except OSError:
            return False

    until(answers, "the engine answers")
    return Handle


@case
def a_result_is_written_and_serve_goes_by_it_while_the_engine_is_the_same(world):
    port = free_port()
    engine = start_engine(world, port)
    path, chart = world.folder / "engine.json", world.folder / "engine.svg"
    before = os.umask(0o077)
    result = calibrate(world, "--url", engine.url, "--apply", path, "--svg", chart)
    os.umask(before)
    equal(result.returncode, 0, f"exit code ({result.stderr[-400:]})")
    assert "2 slots at " in result.stdout, result.stdout
    equal(stat.S_IMODE(path.stat().st_mode), 0o644, "mode of the file")
    assert "knee: 2 slots" in chart.read_text(), "the chart has the knee"
    written = json.loads(path.read_text())

    router = world.router(engine, flags=("--calibration", path, "--health-interval", "100ms"))
    until(lambda: router.workers()[0]["calibration"]["counts"], "it counts")
    worker = router.workers()[0]
    equal(worker["capacity"]["requests"], 2, "limit in flight")
    equal(worker["calibration"], {"slots": 2, "measured_at": written["measured_at"], "counts": True, "why_not": None},
          "as the admin API has it")

    engine.close()
    until(lambda: router.workers()[0]["state"] != "routable", "the engine is missed")
    engine = start_engine(world, port, "--max-model-len", 1000)
    until(lambda: not router.workers()[0]["calibration"]["counts"], "another window, and it counts no more")
    worker = router.workers()[0]
    assert worker["calibration"]["why_not"].startswith("max_model_len was "), worker["calibration"]
    equal(worker["capacity"]["requests"], 256, "limit in flight without it")
    assert "its calibration counts no more: max_model_len was " in router.log(), router.log()
    until(lambda: router.workers()[0]["state"] == "routable", "the engine is back")


def result_of(engine):
    """What a run would have written of it."""
    card = json.loads(fetch(engine.url + "/v1/models"))["data"][0]
    levels = [{"level": level, "tokens_per_s": rate, "ttft_s": 0.1, "requests": 4 * level, "tokens": rate, "window_s": 1}
              for level, rate in ((1, 5), (2, 60), (4, 60))]
    return {"version": 1, "url": engine.url, "measured_at": "2026-11-30T20:00:00.000Z", "usable": True, "slots": 2,
            "fingerprint": {"served_id": "m", "max_model_len": card["max_model_len"], "runtime": "vllm",
                            "version": json.loads(fetch(engine.url + "/version"))["version"]},
            "reason": "plateau", "ttft_bound_s": 60, "min_relative_gain": 0.1, "max_tokens": 24, "timeout_s": 300,
            "schedule": [1, 2, 4], "levels": levels, "notes": []}


@case
def what_the_operator_gave_outweighs_the_file(world):
    engine = Emulator(world, "m", *TWO_SLOTS)
    path = world.folder / "engine.json"
    path.write_text(json.dumps(result_of(engine)))
    router = world.router(engine, flags=("--calibration", path, "--max-in-flight", 7))
    until(lambda: router.workers()[0]["calibration"]["counts"], "it counts")
    equal(router.workers()[0]["capacity"]["requests"], 7, "limit in flight")


@cases({"cut": ('{"version":1,\n"slots"', "line 2, column"), "empty": ("", "line 1, column 1"),
        "other version": ('{"version":2}', "version is 2"), "no usable result": (None, "usable is false")})
def a_damaged_file_is_refused_at_the_start(world, text, words):
    path = world.folder / "damaged.json"
    if text is None:
        text = json.dumps({**result_of(Emulator(world, "m", *TWO_SLOTS)), "usable": False})
    path.write_text(text)
    result = subprocess.run([str(world.binary), "serve", "--worker-urls", "http://127.0.0.1:1", "--calibration", str(path)],
                            capture_output=True, text=True, timeout=60)
    equal((result.returncode, result.stdout), (2, ""), "exit code and stdout")
    assert words in result.stderr and str(path) in result.stderr, result.stderr


if __name__ == "__main__":
    kit.main()
