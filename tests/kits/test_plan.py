#!/usr/bin/env python3
"""`evenkeel plan`: the numbers of a published table through the command, what its flags refuse, and what it writes."""
import json
import re
import subprocess

from support import kit
from support.kit import case, cases, equal

SPECIMEN = ("--specimen", "splitwise-70b")
# Polyulya 2026, part 5, computed anew with rational arithmetic: nodes, GB for a prompt of 0.334 GB, for one of 1020 tokens.
TABLE = {1: (3.0735, 3.0747), 4: (8.3943, 8.3978), 8: (14.6727, 14.6788), 16: (26.4490, 26.4600), 32: (48.9007, 48.9209),
         128: (176.7485, 176.8221), 200: (270.3709, 270.4837)}
PUBLISHED = {1: (3.08, 0.01), 4: (8.39, 0.01), 8: (14.67, 0.01), 16: (26.45, 0.01), 32: (48.90, 0.03), 128: (176.76, 0.1),
             200: (270.35, 0.1)}
KEYS = {"nodes", "pooled_gb", "siloed_gb", "saving_gb", "share", "mean_gb", "sd_gb", "excess_sd", "floor_share",
        "capacity_gb", "evaluator", "provenance"}
FLEET = """
scale_time_s = 60
[[models]]
name = "big"
durations = [{ law = "pareto", minimum_s = 100, tail_index = 2.5 }]
[models.footprint]
memory_gb = { fixed = 0.3, growth_per_s = 0.005 }
slots = { fixed = 1 }
[[models]]
name = "small"
durations = [{ law = "exponential", mean_s = 20 }]
[models.footprint]
memory_gb = { fixed = 0.1 }
slots = { fixed = 1 }
[[groups]]
name = "a"
nodes = 12
capacity = { memory_gb = 32, slots = 64 }
per_hour = { big = 36, small = 360 }
[[groups]]
name = "b"
nodes = 3
capacity = { memory_gb = 20, slots = 64 }
per_hour = { small = 720 }
"""


def call(world, *words):
    return subprocess.run([str(world.binary), "plan", *map(str, words)], capture_output=True, text=True, timeout=120)


def answered(world, *words):
    result = call(world, *words, "--json")
    equal((result.returncode, result.stderr), (0, ""), f"{words}")
    return json.loads(result.stdout)


def refused(world, *words):
    result = call(world, *words)
    equal((result.returncode, result.stdout), (2, ""), f"exit code and stdout of {words}: {result.stderr[-300:]}")
    return result.stderr


def near(found, wanted, tolerance, of):
    assert abs(found - wanted) <= tolerance, f"{of} is {found}, wanted {wanted} +- {tolerance}"


@case
def the_specimen_has_the_published_table(world):
    for nodes, (rounded, of_tokens) in TABLE.items():
        out = answered(world, "reserve", *SPECIMEN, "--nodes", nodes, "--prompt-gb", 0.334, "--level", "32/33")
        assert KEYS <= set(out), f"keys that are missing: {KEYS - set(out)}"
        near(out["pooled_gb"], rounded, 0.0005, f"{nodes} nodes")
        near(out["pooled_gb"], *PUBLISHED[nodes], f"{nodes} nodes as published")
        near(answered(world, "reserve", *SPECIMEN, "--nodes", nodes, "--prompt-tokens", 1020)["pooled_gb"], of_tokens,
             0.0005, f"{nodes} nodes by tokens")


@case
def two_evaluators_agree(world):
    for words in ((), ("--correlation", "0.1"), ("--profile", "0:1,45:3")):
        a, b = (answered(world, "reserve", *SPECIMEN, "--evaluator", e, *words) for e in ("recursion", "transform"))
        equal((a["evaluator"], b["evaluator"]), ("recursion", "transform"), "evaluators")
        near(a["pooled_gb"], b["pooled_gb"], 1e-5, str(words))


@case
def the_first_line_is_the_one_to_act_on(world):
    result = call(world, "reserve", *SPECIMEN, "--nodes", 32, "--prompt-gb", 0.334)
    equal(result.stdout.splitlines()[0], "reserve 48.90 GB of 1,017.60 GB = 4.81 %; siloed would be 98.35 GB; "
          "frees room for 131 sequences", "first line")


@case
def all_sizes_to_300_are_one_sweep(world):
    rows = answered(world, "sweep", *SPECIMEN, "--prompt-gb", 0.334, "--values", "1:300")["rows"]
    equal([row["nodes"] for row in rows], list(range(1, 301)), "nodes")
    assert all(a["share"] > b["share"] for a, b in zip(rows, rows[1:])), "the share does not fall with every worker"
    for nodes, (rounded, _) in TABLE.items():
        near(rows[nodes - 1]["pooled_gb"], rounded, 0.0005, f"{nodes} nodes")


SWEEPS = {"correlation": ("0,0.25", {"pooled_gb": (48.90, 74.54)}),
          "surge": ("1.5,6", {"pooled_gb": (70.73, 260.01), "covered": (0.0345, 0)}),
          "level": ("0.99,0.99999", {"pooled_gb": (51.26, 61.86)}),
          "correlated-share": ("0.1,0.5", {"to_set_gb": (42.01, 47.21)}),
          "staleness": ("0.3,15", {"to_set_gb": (48.9007 + 0.21 + 0.35, 48.9007 + 11.14 + 17.64)})}


@cases({name: (name, *rest) for name, rest in SWEEPS.items()})
def a_sweep_has_the_published_figures(world, over, values, wanted):
    rows = answered(world, "sweep", *SPECIMEN, "--prompt-gb", 0.334, "--over", over, "--values", values)["rows"]
    for key, figures in wanted.items():
        for row, figure in zip(rows, figures):
            near(row[key], figure, 0.012, f"{key} at {over} {row['value']}")


@case
def details_carry_their_numbers_and_where_they_come_from(world):
    out = answered(world, "reserve", *SPECIMEN, "--prompt-gb", 0.334, "--details", "all", "--freeze-cost", 1)
    memory = out["resources"][0]
    pool, worker = memory["pools"][0], memory["workers"][0]
    for reading, reserve in zip(pool["windows"], (48.90, 45.0, 29.5, 18.4)):
        near(reading["reserve_gb"], reserve, 0.06, reading["reading"])
    assert pool["cheapest"]["reserve_gb"] > out["pooled_gb"], pool["cheapest"]
    near(worker["standing"]["median_gb"], 10.9, 0.06, "median")
    equal(worker["loss"]["tasks_that_fit"], 11, "tasks that fit")
    drawn = worker["running_maximum"]["all"]
    assert drawn["low_gb"] <= drawn["value_gb"] <= drawn["high_gb"], drawn
    equal(len(out["footprints"][0]), 6, "readings of the footprint, and the model")
    for name in ("pooled_gb", "to_set", "windows", "standing", "net_change", "running_maximum", "loss", "footprints",
                 "cheapest"):
        assert len(out["provenance"].get(name, "")) > 30, f"provenance of {name}: {out['provenance'].get(name)}"


@case
def a_fleet_of_a_file_is_planned_by_pool_and_resource(world):
    file = world.folder / "fleet.toml"
    file.write_text(FLEET)
    out = answered(world, "reserve", "--fleet", file)
    equal([r["resource"] for r in out["resources"]], ["memory_gb", "slots"], "resources")
    pools = out["resources"][0]["pools"]
    equal([p["groups"] for p in pools], [["a", "b"]], "pools")
    equal([(c["models"], c["groups"]) for c in sorted(pools[0]["overlap"], key=lambda c: len(c["groups"]))],
          [(["big"], ["a"]), (["big", "small"], ["a", "b"])], "sets of models and who serves them")
    slots = out["resources"][1]["pools"][0]["pooled"]
    equal(slots, round(slots), "slots are whole")
    assert "nodes" in refused(world, "reserve", "--fleet", file, "--nodes", 3)
    file.write_text(FLEET.replace("tail_index", "tail_indx"))
    said = refused(world, "reserve", "--fleet", file)
    assert f'{file}:5:' in said and 'did you mean "tail_index"?' in said, said


BAD = {"a tail index without a mean": ("tail_index = 2.5", "tail_index = 1", "cap"),
       "a footprint without a mean": ("tail_index = 2.5", "tail_index = 2", "cap"),
       "a capacity under the footprint": ("memory_gb = 32", "memory_gb = 0.5", "is under the"),
       "a negative rate": ("big = 36", "big = -36", "rate"),
       "a number that is none": ("fixed = 0.3", "fixed = nan", "at admission"),
       "a time that is none": ("scale_time_s = 60", "scale_time_s = -1", "scale time")}


@cases(BAD)
def a_bad_plan_is_refused_with_the_reason(world, good, bad, reason):
    file = world.folder / "fleet.toml"
    assert good in FLEET
    file.write_text(FLEET.replace(good, bad))
    assert reason in refused(world, "reserve", "--fleet", file)


@cases({"reserve": ("reserve",), "sweep": ("sweep",)})
def what_is_no_value_of_a_flag_is_refused(world, command):
    flags = re.findall(r"^  (--[a-z-]+) (INT|FLOAT|TEXT)\b", call(world, command, "--help").stdout, re.MULTILINE)
    assert len(flags) >= 15, flags
    for flag, kind in flags:
        if flag in ("--plot", "--fleet", "--values", "--from", "--format", "--model"):  # any text
            continue
        for value in ("nan", "-1", "seven", "1e400"):
            said = refused(world, command, *SPECIMEN, f"{flag}={value}")
            assert flag in said and f'"{value}"' in said and "allowed: " in said, f"{flag} {value}: {said}"


IDLE = {"paths": (("reserve", "--paths", 2000), "--details maximum"),
        "seed": (("reserve", "--seed", 2), "--details maximum"),
        "staleness": (("reserve", "--published", "--staleness", 1), "--published"),
        "nodes": (("sweep", "--values", "1,2", "--nodes", 3), "--over nodes"),
        "simultaneity": (("reserve", "--simultaneity", 2), "--freeze-cost"),
        "profile": (("reserve", "--profile", "0:1,90:3"), "the window ends at 90 s")}


@cases(IDLE)
def a_flag_without_effect_is_refused(world, words, needs):
    assert needs in refused(world, *words, *SPECIMEN)


@case
def levels_are_within_0_and_1(world):
    for flag, value in (("--level", "0"), ("--level", "1"), ("--level", "33/32"), ("--cost-ratio", "1"),
                        ("--cost-ratio", "0:1"), ("--breaches-per-month", "1e8")):
        said = refused(world, "reserve", *SPECIMEN, flag, value)
        assert flag in said and "allowed: " in said, said
    near(answered(world, "reserve", *SPECIMEN, "--cost-ratio", "32:1")["level"], 32 / 33, 1e-12, "level")


@case
def pictures_are_written_or_refused_beforehand(world):
    for words in (("reserve",), ("sweep", "--values", "1,2,4")):
        picture = world.folder / "picture.svg"
        equal(call(world, *words, *SPECIMEN, "--plot", picture).returncode, 0, str(words))
        assert "<svg" in picture.read_text() and "siloed" in picture.read_text(), picture
        assert "--plot" in refused(world, *words, *SPECIMEN, "--plot", world.folder / "none" / "such.svg")


if __name__ == "__main__":
    kit.main()
