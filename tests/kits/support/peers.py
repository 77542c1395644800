"""Boxes that lend each other capacity: each a router with an emulated engine of a rate table, or with none."""
import collections
import json
import threading
import urllib.request

from .kit import equal, until
from .router import Emulator, Router, free_ports
from .streams import CHAT, ask
from .upstream import json_answer
from .wire import Client, request

THOR, SPARK = "18.18,50.71", "49.24,87.82"  # tokens per second at one and at two streams
TOKENS = 111
SLOTS = 2
WINDOW = 32768
SAME = '[[models]]\nname = "m"\nruntime = "vllm"\n'  # which scripted engines do not say


def fetch(url, method="GET", document=None):
    data = None if document is None else json.dumps(document).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
        return json.loads(answer.read())


class Box:
    """A router and what its engine says of itself. `name` is what its peers call it."""

    def __init__(self, name, engine, router):
        self.name, self.engine, self.router = name, engine, router

    def state(self):
        return fetch(self.engine.url + "/emulator/state")

    def waiting(self):
        return json.loads(self.router.admin("/pool"))["waiting"]

    def get(self, path, *lines):
        with Client(self.router.port, request(path, b"", *lines, method="GET")) as client:
            return client.reply()

    def received(self):
        """Generating requests that ever reached the engine."""
        return sum(rank["received"] for rank in self.state()["ranks"]) if self.engine else 0

    def metric(self, line):
        """One sample of the router's metrics, or the sum of a series; None if it is not there."""
        found = [float(at.rsplit(" ", 1)[1]) for at in self.router.admin("/metrics").decode().splitlines()
                 if at.startswith((line + " ", line + "{"))]
        return sum(found) if found else None


def measured(world, engine, table, scale):
    """A file as `evenkeel calibrate` writes it, of what the rate table says: rates are known from the start."""
    rates = [scale * float(rate) for rate in table.split(",")]
    levels = [{"level": level, "tokens_per_s": rates[min(level, len(rates)) - 1], "ttft_s": 0.01, "requests": 4 * level,
               "tokens": 1000, "window_s": 1} for level in (1, len(rates), 2 * len(rates))]
    path = world.folder / f"calibration-{engine.url.rsplit(':', 1)[1]}.json"
    path.write_text(json.dumps({
        "version": 1, "url": engine.url, "measured_at": "2026-11-30T20:35:26.000Z", "usable": True, "slots": len(rates),
        "fingerprint": {"served_id": "m", "max_model_len": WINDOW, "runtime": "vllm", "version": None},
        "reason": "plateau", "ttft_bound_s": 5, "min_relative_gain": 0.1, "max_tokens": 128, "timeout_s": 300,
        "schedule": [1, 2, 4], "levels": levels, "notes": []}))
    return path


def scripted(world, script):
    """An engine that follows the script, and says of itself what peers must know."""
    listed = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "kit", "max_model_len": WINDOW}]}
    return world.upstream(script, probes={"/v1/models": [json_answer(listed)]})


def lobes_gateway(world, script):
    """A gateway of the other kind, as much of one as a router asks for; its requests follow the script."""
    status = {"object": "lobes.fleet_status", "busy": {"running": 0, "waiting": 0}, "backends": [
        {"name": "primary", "task": "generate", "served_name": "m", "health": "ok", "capacity": SLOTS,
         "metrics": {"running": 0, "waiting": 0}}]}
    fingerprint = {"served_id": "m", "max_model_len": WINDOW, "runtime": "vllm", "quantization": "none"}
    roles = {"roles": {"cortex": {"role": "cortex", "model": "m", "ready": True, "fingerprint": fingerprint}}}
    return world.upstream(script, probes={"/status": [json_answer(status)], "/capabilities": [json_answer(roles)]})


def configured(world, at, peers, ports, text, key_env):
    """Path of the configuration of one box: what no flag says."""
    path = world.folder / f"box-{at}.toml"
    own = "".join(f'''
[[peers]]
url = "http://127.0.0.1:{ports[other][0]}"
name = "127.0.0.1:{ports[other][0]}"
''' + (f'api_key_env = "{key_env}"\naccept_key_env = "{key_env}"\n' if key_env else "") for other in peers)
    path.write_text(f'self_name = "box-{at}"\n' + text + own)
    return path


def boxes(world, *engines, scale=20, tokens=TOKENS, flags=(), each=None, listed=None, models=None, key_env=None,
          known=False, logs=False, slots=SLOTS, lobes=None):
    """A box for each engine: a rate table for an emulated one, what scripted() gives, or None for none. Each is the
    peer of all others; or, with `listed` {box: (peers)}, of those. `flags` are of all routers, `each` of one after the
    other. `models` is of the configuration; with `known` each box knows what its engine does, with `logs` it writes
    box-N.log. `lobes` is a gateway of the other kind, a peer of all. Returns once every router has found all its peers
    usable."""
    ports = [tuple(free_ports(2)) for _ in engines]
    made = []
    for at, engine in enumerate(engines):
        own = ("--access-log", world.folder / f"box-{at}.log") if logs else ()
        if isinstance(engine, str):
            table = engine
            engine = Emulator(world, "m", "--rate-table", table, "--slots", len(table.split(",")), "--time-scale",
                              scale, "--max-model-len", WINDOW, "--output-tokens", f"fixed:{tokens}")
            if known:
                own += ("--calibration", measured(world, engine, table, scale))
        peers = [other for other in range(len(engines)) if other != at] if listed is None else listed.get(at, ())
        text = SAME if models is None else models
        if lobes is not None:
            text += f'[[peers]]\nurl = "{lobes.url}"\nname = "gateway"\nkind = "lobes"\n'
        config = configured(world, at, peers, ports, text, key_env)
        call = ["--config", config, "--max-in-flight", slots, "--quantization", "none", "--seed", 1,
                "--health-interval", "200ms", "--peer-probe-interval", "500ms", *flags, *own,
                *(each[at] if each else ())]
        router = Router(world.binary, [engine.url] if engine else [], call, world.folder, ports[at])
        world.routers.append(router)
        made.append(Box(f"127.0.0.1:{ports[at][0]}", engine, router))
    for at, box in enumerate(made):
        until(lambda box=box: box.router.answers("/ready"), f"box {at} answers")
        peers = [other for other in range(len(made)) if other != at] if listed is None else listed.get(at, ())
        wanted = sum(engines[one] is not None for one in (at, *peers)) + (lobes is not None)
        until(lambda box=box: [worker["state"] for worker in box.router.workers()] == ["routable"] * wanted,
              f"box {at} has found its engine and all its peers")
    return made


def chat(*lines, stream=False, **fields):
    return ask(CHAT, *lines, stream=stream, **{"max_tokens": 4096, **fields})


def forwarded(*lines, **fields):
    """As a peer would forward it: it stays at the box that it comes to."""
    return chat("X-Evenkeel-Hop: kit", *lines, **fields)


def warm(of):
    """Each box's engine at one and at two streams, so that what is learned of it does not rest on guesses."""
    for box in of:
        for size in (1, 2, 1, 2, 2):
            # An answer may be here a moment before its slot is free: a router would keep what is sent back.
            until(lambda: [reply.status for reply in burst(box, [forwarded()] * size)] == [200] * size, "all are served")


def burst(box, requests):
    """Sends all at once, each over a connection of its own; the replies, in the order of the requests."""
    clients = [Client(box.router.port) for _ in requests]
    for client, request in zip(clients, requests):
        client.send(request)
    replies = [client.reply() for client in clients]
    for client in clients:
        client.close()
    return replies


def split(replies, of):
    """How many each of the boxes `of` served, by the receipts. Every request must have been served."""
    equal([reply.status for reply in replies], [200] * len(replies), "statuses")
    here = collections.Counter(reply.header("x-evenkeel-worker") for reply in replies)
    names = {(box.engine.url.removeprefix("http://") if box.engine else None): at for at, box in enumerate(of)}
    names.update({box.name: at for at, box in enumerate(of)})
    counted = collections.Counter()
    for name, count in here.items():
        counted[names[name]] += count
    return [counted[at] for at in range(len(of))]


class Watch:
    """Looks at the engines all the time, for the most that ever ran and waited in each."""

    def __init__(self, watched):
        self.watched = [box for box in watched if box.engine]
        self.running = {box.name: 0 for box in self.watched}
        self.waiting = {box.name: 0 for box in self.watched}
        self.looks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def expect_no_queue(self):
        """One may be sent ahead for each slot; an engine may still be at the end of an answer that its router has."""
        assert self.looks > 0 and max(self.running.values()) <= SLOTS, self.running
        assert max(self.waiting.values()) <= SLOTS, f"waited in the engines, in {self.looks} looks: {self.waiting}"

    def _look(self):
        while not self._over.is_set():
            for box in self.watched:
                state = box.state()
                self.running[box.name] = max(self.running[box.name], state["running"])
                self.waiting[box.name] = max(self.waiting[box.name], state["waiting"])
            self.looks += 1


def books_are_empty(of):
    """On every box: no lease, nobody waiting, no dispatch to a peer, nothing taken on for one, and no peer that is still
    thought to be busy with what others have there."""
    for box in of:
        until(lambda box=box: not any(worker["foreign"]["requests"] for worker in box.router.workers()
                                          if worker["state"] == "routable"),
              f"{box.name}: nobody else has anything anywhere")
        until(box.router.books_are_zero, f"{box.name}: books back to zero")
        until(lambda box=box: not (box.metric("evenkeel_peer_open") or box.metric("evenkeel_peer_taken_on")),
              f"{box.name}: no dispatch is open to a peer, and none of a peer")
