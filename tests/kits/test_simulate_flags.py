#!/usr/bin/env python3
"""What `simulate` and `forecast` make of their flags: no value is bent into another, no flag is taken and then not
used, what cannot be written is found before the work, and what only the work shows is a finding."""
import json
import re
import subprocess

from support import kit
from support.kit import case, cases, equal

COMMANDS = {"simulate": ("simulate",), "forecast train": ("forecast", "train"), "forecast eval": ("forecast", "eval")}
FLAG = re.compile(r"^  (--[a-z-]+) (INT|UINT|FLOAT|TEXT)\b")
NO_VALUE = {"TEXT": [""],
            "INT": ["", "-1", "1.5", "9223372036854775808", "18446744073709551617", "1e3", " 7", "seven"],
            "FLOAT": ["", "-1", "nan", "inf", "1e400", "1,5", "seven"]}
NO_VALUE["UINT"] = NO_VALUE["INT"]
AZURE_CODE = "azure-2023-code.csv.gz"
# A finite run of a moment.
SHORT = ("--workers", 1, "--slots", 1, "--requests", 1, "--steps", 0, "--outputs", "fixed:10")
# A run that no test could wait for.
ENDLESS = ("--steps", 1_000_000_000, "--seeds", 10_000)


def call(world, *words):
    return subprocess.run([str(world.binary), *map(str, words)], capture_output=True, text=True, timeout=120)


def refused(world, *words, code=2):
    """What is said on stderr; nothing is said on stdout."""
    result = call(world, *words)
    equal(result.returncode, code, f"exit code of {words} ({result.stderr[-400:]})")
    equal(result.stdout, "", f"stdout of {words}")
    return result.stderr


def data(name):
    return str(kit.pathlib.Path(__file__).parent.parent / "data" / name)


@cases({name: (words, least) for (name, words), least in zip(COMMANDS.items(), (38, 13, 11))})
def what_is_no_value_of_a_flag_is_refused(world, command, least):
    flags = [match.groups() for line in call(world, *command, "--help").stdout.splitlines() if (match := FLAG.match(line))]
    assert len(flags) >= least, f"only {len(flags)} flags with a value are found in the help: {flags}"
    for flag, kind in flags:
        for value in NO_VALUE[kind]:
            said = refused(world, *command, f"{flag}={value}" if value else flag, *([] if value else [""]))
            assert flag in said and f'"{value}"' in said, f"{flag} {value!r} is not named: {said}"
            assert "allowed: " in said, f"{flag} {value!r}: what is allowed is not told: {said}"


OF_A_TRACE = {"--format": "azure", "--trace-rate": 1, "--trace-session-rate": 1, "--time-scale": 2, "--from": 1,
              "--to": 2, "--max-requests": 1, "--output-from": 1, "--prompt-cap": 9, "--output-cap": 9}
USELESS = {
    **{f"{flag} without a trace": ((flag, value), "--trace") for flag, value in OF_A_TRACE.items()},
    **{f"{flag} beside a trace": ((flag, value, "--trace", data(AZURE_CODE)), "--trace")
       for flag, value in {"--prompts": "fixed:9", "--outputs": "fixed:9", "--classes": "5"}.items()},
    "time-scale of a trace whose times are not used": (("--trace", data(AZURE_CODE), "--time-scale", 2), "--arrivals trace"),
    "trace-rate of a format with times": (("--trace", data(AZURE_CODE), "--trace-rate", 2), "--trace-rate"),
    "studies-dir without a study": (("--studies-dir", "x"), "--experiment"),
    "workers beside a study": (("--experiment", "theory", "--workers", 3), "--workers"),
    "pool that is not kept": (("--arrivals", "poisson:1", "--pool", 3), "--arrivals saturated"),
    "max-waiting of a pool that is kept": (("--max-waiting", 3), "--arrivals saturated"),
    "stale-steps without shared steps": (("--stale-steps", 3), "--sync"),
    "preset beside a law": (("--law", "1:1", "--step-preset", "paper"), "--step-preset"),
    "kv-block of memory without end": (("--kv-block", 8), "--kv-tokens"),
    "redline-level without a redline": (("--redline-level", 0.9), "--redline on"),
    "kv-block under a law": (("--kv-block", 8, "--law", "70:0.2"), "--kv-tokens"),
    "prefix-cache of prompts with their KV": (("--prefix-cache",), "off is allowed"),
    "gap between bursts of which there is one": (("--gap-ms", 5, "--experiment", "peers"), "--rounds"),
    "spacing of one request": (("--spacing-ms", 5, "--burst", 1, "--experiment", "peers"), "--burst"),
    "lag of gauges that are not read": (("--gauge-lag-ms", 5, "--experiment", "peers"), "--exchange gauges"),
    "jobs that are timed": (("--timing", "--jobs", 2), "--jobs 1"),
}


@cases(USELESS)
def a_flag_without_effect_is_refused(world, words, needs):
    said = refused(world, "simulate", *words)
    flag = next(word for word in words if str(word).startswith("--") and word != "--trace" and word != "--arrivals")
    assert flag in said and needs in said, said


@case
def what_cannot_be_written_is_found_before_the_work(world):
    nowhere = world.folder / "none" / "such"
    for words in (("simulate", *ENDLESS, "--plot", nowhere), ("simulate", *ENDLESS, "--plot", world.folder),
                  ("forecast", "train", "--from", data(AZURE_CODE), "--to", nowhere),
                  ("forecast", "eval", "--from", data(AZURE_CODE), "--plot", nowhere)):
        said = refused(world, *words)
        assert f"{words[-2]}: cannot write {words[-1]}" in said, said
    file = world.folder / "file"
    file.write_text("kept")
    said = refused(world, "simulate", "--experiment", "theory", *ENDLESS, "--studies-dir", file / "under")
    assert "--studies-dir: cannot write" in said, said
    refused(world, "simulate", "--plot", file, "--trace", nowhere)
    equal(file.read_text(), "kept", "a file that could be written, after a run that was refused")
    refused(world, "simulate", "--plot", world.folder / "new", "--trace", nowhere)
    assert not (world.folder / "new").exists(), "a run that was refused left an empty file"


@case
def what_could_not_be_written_in_the_end_is_a_finding(world):
    result = call(world, "simulate", *SHORT, "--plot", "/dev/full")
    equal(result.returncode, 1, "exit code")
    assert "--plot: cannot write /dev/full" in result.stderr, result.stderr


@case
def more_than_the_fleet_serves_is_a_finding_with_both_rates(world):
    said = refused(world, "simulate", "--workers", 2, "--slots", 4, "--sync", "--outputs", "fixed:100", "--arrivals",
                   "poisson:50", "--max-waiting", 20_000, code=1)
    told = re.search(r"--arrivals poisson:50: more than 20,000 requests wait \(--max-waiting\) after (\S+) s, as (\S+) a "
                     r"second come and (\S+) a second end at 2 workers of 4 slots", said)
    assert told, said
    # Eight slots, a hundred steps of 70 ms and a little a request.
    assert 45 < float(told[2]) < 55 and 1.05 < float(told[3]) < 1.2, said


@case
def a_policy_that_is_wrong_is_named_once(world):
    for policy in ("br0[window=0]", "br0[window=1", "br0[windw=1]", "bro"):
        said = refused(world, "simulate", "--policy", policy)
        equal(said.count("policy "), 1, said)


@case
def one_of_a_thing_is_no_plural(world):
    result = call(world, "simulate", *SHORT, "--seeds", 1, "--classes", 1)
    equal(result.returncode, 0, result.stderr)
    plurals = re.findall(r"\b1 (?:requests|workers|slots|seeds|steps|classes)\b", result.stdout)
    equal(plurals, [], f"plurals of one in {result.stdout}")
    assert "1 worker of 1 slot" in result.stdout and "1 request" in result.stdout, result.stdout


@case
def seeds_that_have_the_same_requests_are_noted(world):
    words = ("simulate", "--trace", data(AZURE_CODE), "--max-requests", 50, "--arrivals", "trace", "--steps", 0, "--json")
    several, one = (json.loads(call(world, *words, "--seeds", seeds).stdout)["notes"] for seeds in (2, 1))
    equal([note for note in several if note not in one],
          ["all 2 seeds have the same requests at the same times, those of the trace: they differ in the draws of the "
           "policies alone, and so do the standard errors"], "notes of two seeds beyond those of one")


@case
def a_cap_of_none_is_a_cap_of_nought(world):
    words = ("simulate", "--workers", 2, "--slots", 2, "--sync", "--steps", 500, "--seeds", 1, "--outputs", "fixed:9",
             "--policy", "br0", "--json", "--overtake-cap")
    none, nought, three = (call(world, *words, cap).stdout for cap in ("none", 0, 3))
    equal(nought, none, "result of --overtake-cap 0")
    assert json.loads(three)["runs"][0]["overtakes_max"] < json.loads(none)["runs"][0]["overtakes_max"], three


@case
def an_area_under_a_curve_of_one_class_is_not_defined(world):
    words = ("forecast", "eval", "--from", data(AZURE_CODE), "--max-requests", 400, "--horizon", 10_000)
    judged = json.loads(call(world, *words, "--json").stdout)["forecasts"][0]
    equal((judged["positives"], judged["auc"]), (judged["questions"], None), "positives and auc of one class")
    table = call(world, *words).stdout
    assert "AUC is not defined: all of them end within 10000 tokens" in table, table


if __name__ == "__main__":
    kit.main()
