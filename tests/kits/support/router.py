"""The router under test: started on free ports, asked through its admin API, stopped with SIGTERM."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

# Names of `evenkeel serve` flags that the kits use, in one place. Times are in seconds.
FIRST_BYTE_TIMEOUT = "--first-byte-timeout"
SILENCE_TIMEOUT = "--silence-timeout"
REQUEST_HEAD_TIMEOUT = "--head-timeout"
REQUEST_BODY_TIMEOUT = "--body-timeout"
MAX_BODY_BYTES = "--max-body-bytes"
MAX_IN_FLIGHT = "--max-in-flight"
BREAKER_OFF = ("--breaker-faults", "0")

BOOKS = ("in_flight", "prompt_tokens", "generated_tokens", "kv_tokens")


# Flags of `evenkeel emulate` for a small engine that answers fast, where a case says nothing else.
EMULATOR_FLAGS = {"--slots": "8", "--time-scale": "20", "--seed": "1"}


def free_ports(count):
    """So many different ports that nobody listens on."""
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def free_port():
    return free_ports(1)[0]


class Router:
    def __init__(self, binary, worker_urls, flags, folder, ports=None, host="127.0.0.1", before=()):
        """`before`: words before the command, such as what takes it to a network of its own, where it is `host`."""
        self.port, self.admin_port = ports or free_ports(2)
        self.host = host
        self.url = f"http://{host}:{self.port}"
        self.log_path = pathlib.Path(folder) / f"router-{self.port}.log"
        call = [*before, str(binary), "serve", "--port", str(self.port), "--admin-port", str(self.admin_port),
                *(["--worker-urls", *worker_urls] if worker_urls else []), *map(str, flags)]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def alive(self):
        return self.process.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def answers(self, path):
        """Whether GET path gives 200 now. A router that has died is an error at once."""
        assert self.alive(), f"the router ended with {self.process.poll()}:\n{self.log()}"
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def admin(self, path):
        with urllib.request.urlopen(f"http://{self.host}:{self.admin_port}{path}", timeout=10) as answer:
            return answer.read()

    def workers(self):
        return json.loads(self.admin("/workers"))

    def books(self):
        """Sum over the workers of what is open."""
        workers = self.workers()
        return {name: sum(worker[name] for worker in workers) for name in BOOKS}

    def books_are_zero(self):
        return not any(self.books().values()) and json.loads(self.admin("/pool"))["waiting"] == 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def terminate(self):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=10)

    def close(self):
        if self.alive():
            self.process.kill()
            self.process.wait()


class Emulator:
    """`evenkeel emulate` on a free port, ready."""

    def __init__(self, world, model, *flags, host="127.0.0.1", before=()):
        self.port = port = free_port()
        self.url = f"http://{host}:{port}"
        call = [*before, str(world.binary), "emulate", "--port", str(port), "--model", model,
                *(word for flag, value in EMULATOR_FLAGS.items() if flag not in flags for word in (flag, value)),
                *map(str, flags)]
        with open(world.folder / f"emulator-{port}.log", "wb") as log:
            self.process = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        world.processes.append(self)
        deadline = time.monotonic() + 10
        while not self._answers():
            assert self.process.poll() is None, f"emulate ended with {self.process.poll()}"
            assert time.monotonic() < deadline, "emulate is not ready"
            time.sleep(0.01)

    def _answers(self):
        try:
            with urllib.request.urlopen(self.url + "/health", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
