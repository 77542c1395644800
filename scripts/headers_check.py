"""Every header of src/ must compile on its own, with the flags of its room.

usage: headers_check.py BUILD_DIR

A header that is the first include of a source file is proved by that file's own build and not compiled again.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"


def first_includes():
    """Headers that some source file includes before anything else."""
    proved = set()
    for path in SOURCES.rglob("*.cpp"):
        found = re.search(r'^\s*#\s*include\s+["<]([^">]+)', path.read_text(), re.MULTILINE)
        if found:
            proved.add(found[1])
    return proved


def flags_by_room(build):
    """The compiler call of any source file of a room, without its input and output."""
    rooms = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if SOURCES not in source.parents:
            continue
        words = shlex.split(entry["command"])
        at = words.index("-o")
        del words[at:at + 2]
        words = [word for word in words if word not in ("-c", entry["file"], str(source))]
        rooms[source.relative_to(SOURCES).parts[0]] = words
    return rooms


def compile_alone(header, command):
    call = [*command, "-fsyntax-only", "-x", "c++", "-include", str(header), "/dev/null"]
    return header, subprocess.run(call, capture_output=True, text=True)


def main():
    proved = first_includes()
    rooms = flags_by_room(pathlib.Path(sys.argv[1]).resolve())
    if not rooms:
        sys.exit("headers_check: compile_commands.json names no file of src/")
    # A room without sources of its own borrows the flags of the highest room, which may see everything.
    fallback = rooms.get("cli") or next(iter(rooms.values()))
    headers = sorted(SOURCES.rglob("*.hpp"))
    alone = [path for path in headers if str(path.relative_to(SOURCES)) not in proved]
    faults = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        calls = [workers.submit(compile_alone, path, rooms.get(path.relative_to(SOURCES).parts[0], fallback))
                 for path in alone]
        for call in calls:
            header, result = call.result()
            if result.returncode != 0:
                faults += 1
                print(f"{header.relative_to(ROOT)} does not compile on its own:\n{result.stderr}")
    print(f"{len(headers)} headers: {len(headers) - len(alone)} lead a source file, {len(alone)} compiled "
          f"alone, {faults} faulty")
    return 1 if faults or not headers else 0


sys.exit(main())
