#!/usr/bin/env python3
"""What forecasts have learned outlives the router: saved at its end, taught again at the next start, never half of a
damaged file; and decisions that rest on it can still be made again from a recording."""
import os
import stat
import subprocess

from support import kit, wire
from support.kit import case, equal, until
from support.router import Emulator
from support.streams import CHAT
from support.wire import Client

POLICY = ("--policy", "brh[forecast=exact_match]")


def metric(router, name, model="m"):
    for found in router.admin("/metrics").decode().splitlines():
        if found.startswith(f'{name}{{model="{model}"}} ') or found.startswith(name + " "):
            return float(found.rsplit(" ", 1)[1])
    return None


def ask(router, count, text="hello"):
    for _ in range(count):
        with Client(router.port, wire.request(CHAT, {"model": "m", "messages": [{"role": "user", "content": text}]},
                                              "X-Emulate-Output-Tokens: 5")) as client:
            equal(client.reply().status, 200, "status")


def router_with(world, engine, file, *flags):
    return world.router(engine, flags=(*POLICY, "--forecast-file", file, *flags))


def stop(world, router):
    world.routers.remove(router)
    equal(router.terminate(), 0, "exit code")


def saved_keys(file):
    lines = file.read_text().splitlines()
    return [line.split()[3] for line in lines if line.split()[2:3] in (["c"], ["b"])]


@case
def what_was_learned_is_known_after_a_restart(world):
    engine, file, record = Emulator(world, "m"), world.folder / "forecast", world.folder / "record"
    router = router_with(world, engine, file, "--record", record)
    equal(metric(router, "evenkeel_forecast_file_age_seconds"), -1, "age of a file not saved in this run")
    ask(router, 12)
    until(lambda: metric(router, "evenkeel_forecast_ended") == 12, "twelve ended")
    stop(world, router)
    equal(stat.S_IMODE(os.stat(file).st_mode), 0o600, "mode")
    keys = saved_keys(file)
    equal((len(keys), len(set(keys))), (12, 1), "ended requests and prompts in the file")

    again = router_with(world, engine, file, "--record", record)  # another process, another seed: the same salt
    equal(metric(again, "evenkeel_forecast_ended"), 12, "known at the start")
    equal(metric(again, "evenkeel_forecast_fallback"), 0, "fallback")
    ask(again, 3)
    ask(again, 1, "another")
    until(lambda: metric(again, "evenkeel_forecast_ended") == 16, "sixteen ended")
    stop(world, again)
    keys = saved_keys(file)
    equal((len(keys), len(set(keys)), len(set(keys[:15]))), (16, 2, 1), "requests, prompts, prompts of the first 15")
    retraced = subprocess.run([world.binary, "retrace", record], capture_output=True, text=True, check=False)
    equal(retraced.returncode, 0, f"retrace: {retraced.stdout}{retraced.stderr}")
    assert '"ask":"recall"' in record.read_text(), "what was taught is on record"


@case
def a_damaged_file_is_set_aside_and_built_anew(world):
    engine, file = Emulator(world, "m"), world.folder / "forecast"
    file.write_text("evenkeel-forecast-history 1\nsalt 1\nmodel 1 6d\n1 2 c 0\nchecksum 0000000000000000\n")
    damaged = file.read_text()
    router = router_with(world, engine, file)
    equal(file.with_name("forecast.bad").read_text(), damaged, "what was set aside")
    assert "its checksum is not that of its content" in router.log(), router.log()
    equal(metric(router, "evenkeel_forecast_ended"), None, "nothing of it is used")
    ask(router, 2)
    until(lambda: metric(router, "evenkeel_forecast_ended") == 2, "two ended")
    stop(world, router)
    equal(len(saved_keys(file)), 2, "ended requests in the file")


@case
def refused_where_it_cannot_be_or_has_no_use(world):
    def refusal(*flags):
        run = subprocess.run([world.binary, "serve", "--port", "0", "--admin-port", "0", "--worker-urls",
                              "http://127.0.0.1:9", *map(str, flags)], capture_output=True, text=True, check=False)
        equal(run.returncode, 2, "exit code")
        return run.stderr

    assert "cannot be made" in refusal(*POLICY, "--forecast-file", world.folder / "none" / "forecast")
    for policy in ("least_wait", "brh[horizon=0]"):
        found = refusal("--policy", policy, "--forecast-file", world.folder / "forecast")
        assert "forecast_file has no effect with policy" in found, found
    assert 'forecast_file is "-"' in refusal(*POLICY, "--forecast-file", "-")


if __name__ == "__main__":
    kit.main()
