"""What gate.json says of counts: what is held (above it the gate fails) and what is aimed at."""

import dataclasses
import json
import os

from .table import number, table

COUNTS = ("instructions", "system_calls", "allocations")
HELD_ABOVE_FOUND = 1.03  # how `held` is set; README.md says when


@dataclasses.dataclass(frozen=True)
class Row:
    """One count of one unit. A limit of None is no limit."""
    count: str
    unit: str
    found: float
    held: float | None
    goal: float | None
    within: bool  # of what is held
    met: bool     # the goal


def load():
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gate.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def judge(found, gate):
    """Rows of {unit: {count: value}}, in the order of units and COUNTS."""
    rows = []
    for unit, counts in found.items():
        for count in (count for count in COUNTS if count in counts):
            value = counts[count]
            held, goal = (gate[kind].get(unit, {}).get(count) for kind in ("held", "goals"))
            tolerance = gate["goal_tolerance"].get(count, 0)
            rows.append(Row(count, unit, value, held, goal, within=held is None or value <= held,
                            met=goal is None or value <= goal + tolerance))
    return rows


def as_table(rows):
    def words(row):
        return [f"{row.count.replace('_', ' ')} per {row.unit}", number(row.found), number(row.held),
                "" if row.held is None else "within" if row.within else "ABOVE", number(row.goal),
                "" if row.goal is None else "met" if row.met else "not met"]

    return table(["", "found", "held", "", "goal", ""], [words(row) for row in rows])


def to_hold(row):
    return row.found * HELD_ABOVE_FOUND


def could_be_lower(rows):
    """The instructions that are held at more than their figure and twice the margin."""
    return [row for row in rows if row.count == "instructions" and row.held
            and to_hold(row) * HELD_ABOVE_FOUND < row.held]
