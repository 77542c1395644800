"""Adds up the CTest reports of a run: prints every skip with its reason, checks their number, tallies.

usage: tally.py SKIPS_FILE CONDITIONS [--also NAME=EXIT_CODE] REPORT...

REPORT is build/<part>/tests.xml. CONDITIONS are words with spaces between them; SKIPS_FILE has lines
`condition part number`. What the run's conditions allow a part is added up; a pair that is not named stands
for 0. Exits 1 when a test failed, a part ran nothing, or the number of skips is another.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as xml


def expected_skips(path, conditions):
    expected = collections.Counter()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 3 or not words[2].isdigit():
            sys.exit(f"{path}:{number}: expected `condition part number`, got {line!r}")
        if words[0] in conditions:
            expected[words[1]] += int(words[2])
    return expected


def reason_of(case):
    lines = (case.findtext("system-out") or "").strip().splitlines()
    said = [line for line in lines if "skip" in line.lower()]
    return (said or lines or ["no reason printed"])[0].strip()


def chose_to_skip(case):
    """CTest also reports as skipped what it could not start; its message tells."""
    mark = case.find("skipped")
    return mark is not None and mark.get("message", "").startswith("SKIP_")


def read_report(path):
    """(passed, failed, skipped) names of one part; skipped carries the reasons."""
    passed, failed, skipped = [], [], []
    if not path.exists():
        return passed, ["no report was written"], skipped
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        if case.get("status") == "run":
            passed.append(name)
        elif chose_to_skip(case):
            skipped.append((name, reason_of(case)))
        else:
            failed.append(name)
    return passed, failed, skipped


def main():
    skips_file, conditions, *rest = sys.argv[1:]
    expected = expected_skips(pathlib.Path(skips_file), conditions.split())
    totals = [0, 0, 0]
    complaints = []
    while rest:
        argument = rest.pop(0)
        if argument == "--also":
            name, code = rest.pop(0).split("=")
            part, passed, failed, skipped = name, [name] * (code == "0"), [name] * (code != "0"), []
        else:
            path = pathlib.Path(argument)
            part = path.parent.name
            passed, failed, skipped = read_report(path)
        for name, reason in skipped:
            print(f"skipped {part} / {name}: {reason}")
        complaints += [f"failed {part} / {name}" for name in failed]
        if not passed and not failed and not skipped:
            complaints.append(f"{part}: no test ran")
        if len(skipped) != expected[part]:
            complaints.append(f"{part}: {len(skipped)} skipped, {skips_file} gives {expected[part]} for {conditions}")
        print(f"{part}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
        totals = [total + len(names) for total, names in zip(totals, (passed, failed, skipped))]
    print("\n".join(complaints), end="\n" if complaints else "")
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if complaints else 0


sys.exit(main())
