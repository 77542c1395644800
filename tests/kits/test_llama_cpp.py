"""A real llama.cpp server behind the router: its own /slots and /metrics are the witness."""
import json
import pathlib
import re
import shutil
import subprocess
import urllib.request

from support import kit, wire
from support.clients import LLAMA_CPP, Environment
from support.kit import case, equal, until
from support.router import free_port
from support.wire import Client

HERE = pathlib.Path(__file__).resolve().parent
MODEL_FILE = HERE.parent / "data" / "models" / "tiny.gguf"
SLOTS = 4
LONG = 8000  # tokens: under a slot's context, and far longer than a case takes


class LlamaServer:
    """llama-server from the PATH where there is one, else the same server out of a Python wheel."""

    def __init__(self, world):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        own = shutil.which("llama-server")
        if own:
            call = [own, "-m", MODEL_FILE, "--host", "127.0.0.1", "--port", port, "--alias", "tiny", "--slots",
                    "--metrics", "-np", SLOTS, "-c", 32768, "-t", 1]
        else:
            python = Environment(world.binary, "llama", LLAMA_CPP).python
            call = [python, HERE / "clients" / "llama_server.py", MODEL_FILE, port, "tiny", SLOTS]
        with open(world.folder / "llama.log", "wb") as log:
            self.process = subprocess.Popen([str(word) for word in call], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        world.processes.append(self)
        until(lambda: self.get("/health"), "llama.cpp is ready")

    def get(self, path):
        assert self.process.poll() is None, f"llama.cpp ended with {self.process.poll()}"
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as answer:
                return answer.read()
        except OSError:
            return None

    def busy(self):
        return sum(slot["is_processing"] for slot in json.loads(self.get("/slots")))

    def metric(self, name):
        return float(re.search(rf"^llamacpp:{name} (\S+)$", self.get("/metrics").decode(), re.MULTILINE)[1])

    def close(self):
        self.process.kill()
        self.process.wait()


def served(world):
    engine = LlamaServer(world)
    return engine, world.router(engine)


def ask(tokens, stream=False, prompt=64):
    body = {"model": "tiny", "prompt": list(range(300, 300 + prompt)), "max_tokens": tokens, "ignore_eos": True,
            "stream": stream, "stream_options": {"include_usage": True}}
    return wire.request("/v1/completions", body if stream else {**body, "stream_options": None})


def waiting(router):
    return json.loads(router.admin("/pool"))["waiting"]


@case
def plain_and_streamed_answers_have_their_exact_lengths(world):
    engine, router = served(world)
    with Client(router.port, ask(20)) as client:
        usage = client.reply().json()["usage"]
        equal((usage["prompt_tokens"], usage["completion_tokens"]), (64, 20), "usage of the plain answer")
        client.send(ask(20, stream=True))
        reply = client.reply()
    events = [data for _, data in reply.events()]
    assert reply.complete, "the stream did not end as complete"
    equal(events[-1], "[DONE]", "last event")
    usages = [json.loads(data).get("usage") for data in events[:-1]]
    equal([usage["completion_tokens"] for usage in usages if usage], [20], "usage in the stream")
    equal(engine.metric("tokens_predicted_total"), 40, "tokens by the engine's own count")


@case
def model_and_slots_are_learned_from_the_engine(world):
    engine, router = served(world)
    (worker,) = router.workers()
    equal((worker["models"], worker["capacity"]["requests"]), (["tiny"], SLOTS), "models and places")


@case
def as_many_run_as_there_are_slots_and_the_rest_waits(world):
    engine, router = served(world)
    clients = [Client(router.port, ask(LONG, stream=True)) for _ in range(SLOTS + 2)]
    until(lambda: (engine.busy(), router.books()["in_flight"], waiting(router)) == (SLOTS, SLOTS, 2),
          "four busy slots, four in flight, two waiting")
    equal(engine.metric("requests_deferred"), 0, "requests that queue inside the engine")
    for client in clients:
        client.reset()
    until(lambda: engine.busy() == 0 and waiting(router) == 0, "all slots are free again")


@case
def cancelled_stream_frees_the_slot(world):
    engine, router = served(world)
    client = Client(router.port, ask(LONG, stream=True))
    until(lambda: (engine.busy(), router.books()["in_flight"]) == (1, 1), "one slot busy, one in flight")
    client.reset()
    until(lambda: engine.busy() == 0, "the slot is free although the answer was not finished")
    assert engine.metric("tokens_predicted_total") < LONG, "the engine finished what nobody wanted"


@case
def cancelled_plain_answer_leaves_the_books(world):
    """This server does not look at the connection of a plain answer (asked directly it goes on too), so what can be
    seen is that the router let go, and that it counts what still runs as foreign load, not as its own."""
    engine, router = served(world)
    client = Client(router.port, ask(LONG))
    until(lambda: (engine.busy(), router.books()["in_flight"]) == (1, 1), "one slot busy, one in flight")
    client.reset()
    until(lambda: router.books()["in_flight"] == 0, "the lease has ended")
    if engine.busy():
        until(lambda: router.workers()[0]["foreign"]["requests"] == 1, "what still runs is foreign load")


@case
def books_follow_the_stream(world):
    engine, router = served(world)
    client = Client(router.port, ask(LONG, stream=True))
    until(lambda: router.books()["generated_tokens"] >= 20, "twenty tokens counted")
    books = router.books()
    equal(books["in_flight"], 1, "in flight")
    assert books["kv_tokens"] >= books["generated_tokens"] > 0, books
    client.reset()


@case
def prompt_too_long_is_the_engines_own_refusal(world):
    engine, router = served(world)
    before = router.workers()[0]["state"]
    with Client(router.port, ask(4, prompt=1500)) as client:
        equal(client.reply().status, 200, "status of a prompt that fits")
        body = {"model": "tiny", "prompt": [300] * 9000, "max_tokens": 4}
        client.send(wire.request("/v1/completions", body))
        reply = client.reply()
        equal((reply.status, reply.json()["error"]["type"]), (400, "exceed_context_size_error"), "refusal")
    equal(router.workers()[0]["state"], before, "state of the worker after a client's fault")


if __name__ == "__main__":
    kit.main()
