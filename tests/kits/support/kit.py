"""Runs the cases of one kit: `test_x.py BINARY [-k PART_OF_NAME] [--list]`.

A case is a function that gets a World. The world starts routers and upstreams for it; when the case returns,
the world asserts what holds after every case: each router is alive, its books are at zero, it leaves on
SIGTERM with exit code 0, and no upstream script met something it did not expect.
"""
import argparse
import pathlib
import shutil
import sys
import tempfile
import time
import traceback

from .router import Router
from .upstream import Upstream, unread_bytes, unsent_bytes
from .wire import Client

PATIENCE_S = 60  # bound of every wait; no case asserts how long something took
_cases = []
_parser = argparse.ArgumentParser()


class Skip(Exception):
    """The kit cannot run here; the text is the reason."""


def case(function):
    _cases.append((function.__name__, function))
    return function


def option(flag, **how):
    """Adds an option of one kit, as argparse takes it; the value stands in world.options."""
    _parser.add_argument(flag, **how)


def cases(table):
    """Registers run(world, *arguments) under each name of {name: arguments}."""
    def register(function):
        for name, arguments in table.items():
            _cases.append((name, lambda world, arguments=arguments: function(world, *arguments)))
        return function
    return register


def until(condition, what):
    """Polls until the condition is true and returns its value; the wait is bounded."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"never came true: {what}")
        time.sleep(0.002)


def equal(found, expected, what):
    assert found == expected, f"{what}: expected {shorten(expected)}, found {shorten(found)}"


def until_read(sock):
    """Waits until the other end of a loopback connection has read everything that was sent."""
    here, there = sock.getsockname()[1], sock.getpeername()[1]
    until(lambda: unsent_bytes(sock) == 0 and unread_bytes(there, here) == 0, "everything sent was read")


def shorten(value, limit=600):
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit // 2]} ... {text[-limit // 2:]} ({len(text)} long)"


class World:
    def __init__(self, binary, folder, options):
        self.binary = binary
        self.folder = folder
        self.options = options
        self.routers = []
        self.upstreams = []
        self.processes = []

    def upstream(self, *scripts, **manners):
        upstream = Upstream(*scripts, **manners)
        self.upstreams.append(upstream)
        return upstream

    def router(self, *upstreams, flags=(), ready=True, ports=None):
        """A router in front of the upstreams (objects with a url), waited for until /ready says yes."""
        router = Router(self.binary, [upstream.url for upstream in upstreams], flags, self.folder, ports=ports)
        self.routers.append(router)
        until(lambda: router.answers("/ready" if ready else "/health"), "the router answers")
        if ready:  # /ready asks for one worker a model, the cases for all of them
            until(lambda: all(worker["state"] == "routable" for worker in router.workers()), "every worker is routable")
        return router

    def answer(self, script, request, flags=()):
        """The reply to one request through a router in front of one upstream that follows the script."""
        router = self.router(self.upstream(script), flags=flags)
        with Client(router.port, request) as client:
            return client.reply()

    def finish(self):
        """The assertions that follow every case."""
        for router in self.routers:
            assert router.alive(), f"the router died with {router.process.poll()}"
            until(router.books_are_zero, "books back to zero")
            equal(router.terminate(), 0, "exit code after SIGTERM")
        for upstream in self.upstreams:
            equal(upstream.faults, [], "faults of the scripted upstream")

    def close(self):
        for stoppable in self.routers + self.upstreams + self.processes:
            stoppable.close()


def leaves_no_descriptor(router, upstream, scripts, request):
    """Two rounds of all the scripts: the second leaves no more descriptors open than the first."""
    def play():
        for script in scripts:
            upstream.scripts[:] = [script]
            with Client(router.port, request) as client:
                client.reply()
        until(router.books_are_zero, "books back to zero")
        return router.descriptors()

    before = play()
    play()
    until(lambda: router.descriptors() <= before + 2, f"at most {before} descriptors again")


def last_words(log):
    """The end of a router's log, with all that a sanitizer said."""
    lines = log.splitlines(True)
    found = [at for at, line in enumerate(lines) if "Sanitizer: " in line or "runtime error: " in line]
    return lines[found[0]:found[0] + 120] if found else lines[-15:]


def run_case(name, function, options):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-kit-"))
    world = World(options.binary.resolve(), folder, options)
    try:
        function(world)
        world.finish()
        print(f"ok   {name}", flush=True)
        return True
    except Skip:
        raise
    except Exception:
        print(f"FAIL {name}")
        print("".join("     " + line for line in traceback.format_exc().splitlines(True)))
        for router in world.routers:
            books = router.workers() if router.alive() else None
            print(f"     books: {shorten(books)}\n     log of the router:")
            print("".join("       " + line for line in last_words(router.log())), flush=True)
        return False
    finally:
        world.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    _parser.add_argument("binary", type=pathlib.Path)
    _parser.add_argument("-k", default="", metavar="PART", help="only the cases whose name has PART in it")
    _parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = _parser.parse_args()
    chosen = [(name, function) for name, function in _cases if options.k in name]
    if options.list:
        print("\n".join(name for name, _ in chosen))
        sys.exit(0)
    if not chosen:
        sys.exit(f"no case has {options.k!r} in its name")
    try:
        results = [run_case(name, function, options) for name, function in chosen]
    except Skip as reason:
        print(f"SKIP {reason}")
        sys.exit(77)
    failed = results.count(False)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
