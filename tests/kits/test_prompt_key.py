#!/usr/bin/env python3
"""Which requests have the same prompt key, as the router's record of its decisions (`--record`) shows it: the same
prompt, whatever else the request asks for; another prompt, another key; another process, another salt."""
import json

from support import kit, wire
from support.kit import case, equal, until
from support.streams import CHAT, COMPLETIONS
from support.upstream import json_answer
from support.wire import Client

ANSWER = json_answer({"id": "r1", "object": "chat.completion", "model": "m", "choices": []})


def keys(world, bodies, name, *flags):
    """The keys of these (path, body) pairs, sent one after the other through a fresh router."""
    record = world.folder / name
    router = world.router(world.upstream([ANSWER]), flags=("--record", record, *flags))
    for path, body in bodies:
        with Client(router.port, wire.request(path, body)) as client:
            equal(client.reply().status, 200, "status")

    def written():
        found = [json.loads(line) for line in record.read_text().splitlines(True) if line.endswith("\n")]
        submitted = [line["key"] for line in found if "key" in line]
        return submitted if len(submitted) == len(bodies) else None

    return until(written, "a submission a request")


def chat(text, **more):
    return CHAT, {"model": "m", "messages": [{"role": "user", "content": text}], **more}


@case
def the_same_prompt_has_the_same_key(world):
    long = "word " * 2000
    bodies = [chat("hello"), chat("hello", max_tokens=7), chat("hello", stream=False, temperature=0.5), chat("hallo"),
              chat(long), chat(long, user="u"), chat(long + "x"), (COMPLETIONS, {"model": "m", "prompt": "hello"}),
              ("/v1/embeddings", {"model": "m", "input": "hello"})]
    found = keys(world, bodies, "first", "--seed", 1)
    assert 0 not in found, found
    equal((found[0], found[1], found[4]), (found[1], found[2], found[5]), "keys of equal prompts")
    equal(found[7], found[8], "keys of one text, a prompt here and an input there")
    equal(len({found[0], found[3], found[4], found[6], found[7]}), 5, "keys of different prompts")
    equal(keys(world, bodies, "again", "--seed", 1), found, "keys of a router with the same seed")
    equal(set(keys(world, bodies, "other", "--seed", 2)) & set(found), set(), "keys of a router with another seed")


@case
def what_passes_unread_has_none(world):
    large = chat("a" * 2_000_000)
    equal(keys(world, [large, ("/tokenize", {"model": "m"})], "record"), [0, 0], "keys")


if __name__ == "__main__":
    kit.main()
