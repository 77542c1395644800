#!/usr/bin/env python3
"""Recordings of a router that was started several times, one of them killed while it wrote."""
import json
import subprocess

from support import kit
from support.kit import case, equal, until
from support.streams import CHAT_STREAM, ask, in_chunks
from support.wire import Client

POLICIES = ("round_robin", "least_tokens", "balance")


@case
def each_start_is_told_and_a_killed_one_hides_no_other(world):
    record = world.folder / "decisions.jsonl"
    for number, policy in enumerate(POLICIES):
        router = world.router(world.upstream([in_chunks(CHAT_STREAM)]), flags=("--record", record, "--policy", policy))
        with Client(router.port, ask()) as client:
            equal(client.reply().status, 200, "status")
        until(router.books_are_zero, "books back to zero")
        until(lambda: record.read_text().count('"ask":"ended"') > number, "the end is on record")
        router.process.kill()
        router.process.wait()
        world.routers.remove(router)
        if policy == "least_tokens":  # the whole lines that it wrote, and a half of one more
            record.write_text(record.read_text().rpartition("\n")[0] + '\n{"n":')
        elif not record.read_text().endswith("\n"):
            record.write_text(record.read_text().rpartition("\n")[0] + "\n")
    plain = subprocess.run([world.binary, "retrace", record], capture_output=True, text=True, check=False)
    equal(plain.returncode, 1, f"exit code: {plain.stdout}{plain.stderr}")
    equal([line.split()[1] for line in plain.stdout.splitlines() if line.startswith("policy ")],
          [f"{policy}:" for policy in POLICIES], "policies told")
    equal(plain.stdout.count("all the same"), 3, plain.stdout)
    equal(plain.stdout.count("lost: turn "), 1, plain.stdout)
    starts = json.loads(subprocess.run([world.binary, "retrace", record, "--json"], capture_output=True, text=True,
                                       check=False).stdout)["starts"]
    equal([(start["policy"], start["placements"], start["same"], start["difference"]) for start in starts],
          [(policy, 1, 1, None) for policy in POLICIES], "starts")
    equal([start["lost"] is not None for start in starts], [False, True, False], "what was lost")


if __name__ == "__main__":
    kit.main()
