"""The cases of both openai libraries. A client program gets CASE URL MODEL and prints one JSON object."""
import json
import subprocess
import threading

from . import kit
from .kit import case, equal, until
from .router import Emulator
from .streams import FIRST, SSE_HEAD
from .upstream import RESET, WAIT, json_answer
from .wire import chunk

MODEL = "tiny-chat"
_client = None  # function(binary) -> (call, folder)


def use_client(find_client):
    global _client
    _client = find_client


def say(world, name, router, model=MODEL):
    call, folder = _client(world.binary)
    result = subprocess.run([*call, name, router.url + "/v1", model], cwd=folder, capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 0, f"the client ended with {result.returncode}: {result.stderr[-1500:]}"
    return json.loads(result.stdout)


def emulated(world):
    """The router in front of two emulated engines."""
    _client(world.binary)  # may skip, before anything is started
    engines = [Emulator(world, MODEL) for _ in range(2)]
    return world.router(*engines)


@case
def plain_chat(world):
    said = say(world, "plain", emulated(world))
    assert said["text"], "an empty answer"
    equal((said["finish"], said["completion_tokens"]), ("length", 12), "finish reason and tokens")


@case
def streamed_chat_with_usage(world):
    said = say(world, "stream", emulated(world))
    assert said["text"] and said["pieces"] > 1, said
    equal((said["finish"], said["completion_tokens"]), ("length", 12), "finish reason and tokens")


@case
def models_are_listed(world):
    equal(say(world, "models", emulated(world)), [MODEL], "models")


@case
def unknown_model_is_a_not_found_error(world):
    said = say(world, "plain_error", emulated(world), "nope")
    equal((said["status"], said["code"]), (404, "model_not_found"), "error")


@case
def leaving_a_stream_ends_it_everywhere(world):
    router = emulated(world)
    said = say(world, "leave", router)
    assert said["pieces"] == 2, said
    until(router.books_are_zero, "the books are at zero after the client left")


@case
def broken_stream_raises(world):
    """Both libraries take a stream that merely ends for a complete one: only the error event can tell."""
    has_first = threading.Event()
    upstream = world.upstream([SSE_HEAD, chunk(FIRST), WAIT(has_first), RESET])
    router = world.router(upstream)
    has_first.set()
    said = say(world, "stream_error", router, "m")
    assert said["raised"] and said["pieces"] == 1, said


@case
def answer_of_an_engine_out_of_order_raises_its_message(world):
    error = {"error": {"message": "prompt too long", "type": "BadRequestError", "param": None, "code": 400}}
    router = world.router(world.upstream([json_answer(error, "400 Bad Request")]))
    said = say(world, "plain_error", router, "m")
    equal(said["status"], 400, "status")
    assert "prompt too long" in said["message"], said


main = kit.main
