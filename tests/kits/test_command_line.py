#!/usr/bin/env python3
"""What all commands make of words that they do not know or that are cut off, and that what is wrong is told by the flag
that was given, not by the name of what it fills."""
import re
import subprocess

from support import kit
from support.kit import case, cases, equal

COMMANDS = ("serve", "emulate", "replay", "demo", "simulate", "retrace", "forecast train", "forecast eval",
            "plan reserve", "plan sweep", "plan fit")
FLAG = re.compile(r"^  (?:-\w,)?(--[a-z-]+)", re.MULTILINE)


def call(world, *words):
    return subprocess.run([str(world.binary), *map(str, words)], capture_output=True, text=True, timeout=60)


def refused(world, *words):
    """What is said on stderr, by the command that was called."""
    result = call(world, *words)
    equal((result.returncode, result.stdout), (2, ""), f"exit code and stdout of {words}: {result.stderr[-300:]}")
    return result.stderr


def flags_of(world, command):
    flags = FLAG.findall(call(world, *command, "--help").stdout)
    assert len(flags) >= 2, f"flags of {command} in its help: {flags}"
    return flags


def edit(flag, flags):
    """A misspelling of a flag that is no flag."""
    for at in range(len(flag) - 1, 2, -1):
        wrong = flag[:at] + flag[at + 1:]
        if wrong not in flags and not any(len(other) == len(flag) and other != flag for other in flags
                                          if sum(a != b for a, b in zip(other, flag)) < 3):
            return wrong
    return None


@case
def every_command_is_looked_at(world):
    listed = re.findall(r"^  ([a-z]+) ", call(world, "--help").stdout.partition("Subcommands:")[2], re.MULTILINE)
    equal({command.split()[0] for command in COMMANDS} - set(listed), set(), "commands that are not there")
    for command in COMMANDS:
        equal(call(world, *command.split(), "--help").returncode, 0, command)


@cases({command: (command.split(),) for command in COMMANDS})
def a_misspelt_flag_is_answered_with_the_nearest(world, command):
    flags = flags_of(world, command)
    tried = 0
    for flag in flags:
        wrong = edit(flag, flags)
        if wrong is None:
            continue
        for words in ((wrong,), (wrong, "1"), (wrong + "=1",)):
            said = refused(world, *command, *words)
            assert said.startswith(f"evenkeel {' '.join(command)}: there is no flag {wrong}, did you mean --"), said
        tried += 1
    assert tried >= len(flags) // 2, f"only {tried} of {len(flags)} flags were misspelt"


@cases({command: (command.split(),) for command in COMMANDS})
def what_nobody_knows_is_named(world, command):
    assert "there is no flag --qqqqqqqq\n" in refused(world, *command, "--qqqqqqqq")


@cases({command: (command.split(),) for command in COMMANDS})
def a_value_that_is_cut_off_is_refused_whatever_the_flag(world, command):
    for flag in flags_of(world, command):
        said = refused(world, *command, flag + "=")
        assert f"{flag}= lacks" in said, said


@cases({command: (command.split(),) for command in COMMANDS})
def a_flag_that_takes_no_value_is_given_none(world, command):
    without = re.findall(r"^  (--[a-z-]+)(?:,--no-[a-z-]+)?(?: \[[^\]]*\])? {2,}", call(world, *command, "--help").stdout,
                         re.MULTILINE)
    for flag in without:
        if flag == "--help":
            continue
        said = refused(world, *command, flag + "=7")
        assert flag.lstrip("-") in said, said


@cases({"command": (("serv",), "there is no command serv, did you mean serve?"),
        "inner command": (("forecast", "trian"), "there is no command trian, did you mean train?"),
        "no command": (("qqqqqqq",), "there is no command qqqqqqq\n"),
        "word too many": (("simulate", "more"), '"more" is one word more than wanted')})
def words_that_are_no_flags(world, words, expected):
    assert expected in refused(world, *words), expected


FIELDS = re.compile(r"\b(?:[a-z]+_[a-z_]+|slice field|option [a-z]+)\b")
WRONG = {
    "simulate": [("--prefix-cache",), ("--kv-tokens", 5), ("--kv-tokens", 5, "--kv-block", 8),
                 ("--slots", 0), ("--decode-growth", 99), ("--kv-block", 5000, "--kv-tokens", 5000),
                 ("--step-preset", "8b-h100", "--kv-tokens", 5)],
    "emulate": [("--slots", 0), ("--kv-tokens", 5), ("--max-model-len", 1), ("--max-model-len", 10 ** 9), ("--ranks", 0),
                ("--ranks", 2000), ("--ranks", 2, "--rate-table", "5,6"), ("--ranks", 1, "--rank-ports"),
                ("--ranks", 1, "--no-sync"), ("--replicas", 0), ("--replicas", 60, "--port", 65500), ("--time-scale", 0),
                ("--rate-table", "0"), ("--role", "both", "--rate-table", "5"), ("--role", "both", "--kv-lease-s", 0),
                ("--role", "both", "--bootstrap-timeout-s", 0), ("--role", "both", "--kv-transfer", "-1:1"),
                ("--role", "both", "--kv-transfer", "1:-1"), ("--role", "both", "--kv-host", "h" * 300)],
    "replay": [("--concurrency", 10 ** 7), ("--timeout", 0), ("--loose-bound", -1), ("--slo-ttft-ms", 0),
               ("--header", "x"), ("--header", "a b: c"), ("--model", "m" * 300), ("--ignore-eos",),
               ("--arrivals", "x"), ("--api-key-env", "NO_SUCH_VARIABLE_IS_SET"), ("--url", "x"),
               ("--max-tokens", "exact", "--loose-bound", 5), ("--no-stream", "--slo-tpot-ms", 5), ("--prompt", "x"),
               ("--rate", 0), ("--session-rate", 1), ("--from", -1), ("--to", -1), ("--max-requests", 0),
               ("--prompt-cap", 0), ("--output-cap", 0), ("--time-scale", 0), ("--format", "azure")],
}
NEEDED = {"simulate": (), "emulate": ("--model", "m", "--port", 0),
          "replay": ("--synthetic", "--url", "http://127.0.0.1:9", "--to", 5, "--rate", 1, "--prompt", "fixed:5", "--output",
                     "fixed:5")}


@cases({command: (command,) for command in WRONG})
def what_is_wrong_is_told_by_its_flag(world, command):
    for words in WRONG[command]:
        needed = list(NEEDED[command])
        for flag in words[::2]:  # given once
            if flag in needed and flag != "--synthetic":
                at = needed.index(flag)
                del needed[at:at + 2]
        said = refused(world, command, *needed, *words)
        assert any(str(word) in said for word in words if str(word).startswith("--")), f"{words}: {said}"
        fields = [field for field in FIELDS.findall(said) if field.upper() != field]
        equal(fields, [], f"fields in what is said of {words}: {said}")


@case
def charts_that_cannot_be_written_are_found_before_anything_is_sent(world):
    engine = world.upstream()
    nowhere = world.folder / "none" / "such"
    said = refused(world, "replay", "--url", engine.url, "--synthetic", "--to", 5, "--rate", 9, "--prompt", "fixed:5",
                   "--output", "fixed:5", "--svg", nowhere)
    assert f"--svg: cannot write {nowhere}" in said, said
    equal(len(engine.requests()), 0, "requests sent")
    said = refused(world, "demo", "--plan", str(kit.pathlib.Path(__file__).parents[2] / "data" / "demo.toml"), "--svg",
                   nowhere)
    assert f"--svg: cannot write {nowhere}-unequal.svg" in said, said


if __name__ == "__main__":
    kit.main()
