#!/usr/bin/env python3
"""The true output length reaches no policy: one trace, replayed with max_tokens absent and with one loose bound
for all, gives the same placements, while the engines give each answer the trace's own length both times.

One request at a time, because only then is the order of everything that a policy may see (arrivals, ends, what
is in flight) the same in both runs whatever the machine does meanwhile: the next request is sent after the end of
the one before. What a policy makes of requests in flight together is tested in virtual time; what is tested
here is that nothing on the whole way from the body to the worker tells the two runs apart. least_wait is
left out: it learns rates from the clock, and two runs never take equally long. random is left out because
its draws would be equal for any input."""
import collections
import json
import subprocess

from support import kit
from support.kit import cases, equal, until
from support.router import Emulator

REQUESTS = 120
# Seeds of the router's own draws, so that ties are broken alike.
FLAGS = ("--threads", 1, "--seed", 1)
LAWS = ("--synthetic", "--rate", 200, "--to", 60, "--prompt", "lognormal:60:1.0:400", "--output",
        "lognormal:12:1.0:60", "--max-requests", REQUESTS, "--seed", 7)


def placements(world, engines, policy, max_tokens):
    """[(worker, prompt tokens, output tokens) of each request, in order], from the access log of a fresh router."""
    log_path = world.folder / f"{policy}-{max_tokens}.log"
    router = world.router(*engines, flags=(*FLAGS, "--policy", policy, "--access-log", log_path))
    call = [str(world.binary), "replay", "--url", router.url, *map(str, LAWS), "--time-scale", "1000",
            "--concurrency", "1", "--max-tokens", max_tokens, "--json"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=120)
    equal(result.returncode, 0, f"exit code of replay ({result.stderr[-500:]})")
    equal(json.loads(result.stdout)["completed"]["requests"], REQUESTS, "requests completed")

    def written():
        lines = [json.loads(line) for line in log_path.read_text().splitlines(True) if line.endswith("\n")]
        answers = [line for line in lines if line["endpoint"] == "/v1/chat/completions"]
        return answers if len(answers) == REQUESTS else None

    return [(line["worker"], line["prompt_tokens"], line["output_tokens"]) for line in until(written, "a line a request")]


@cases({policy: (policy,) for policy in ("least_requests", "round_robin", "least_tokens", "power_of_two")})
def same_placements(world, policy):
    engines = [Emulator(world, "m") for _ in range(3)]
    absent = placements(world, engines, policy, "absent")
    loose = placements(world, engines, policy, "loose")
    assert len({output for _, _, output in absent}) > 10, "the trace's lengths do not differ"
    assert len(collections.Counter(worker for worker, _, _ in absent)) > 1, "every request went to one worker"
    equal(loose, absent, "placements with a loose bound, compared with none")


if __name__ == "__main__":
    kit.main()
