"""Every #include "room/..." in src/ must be allowed by floors.txt, and floors.txt must have no circle."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()


def read_floors(text):
    floor, allowed = {}, {}
    for line in text.splitlines():
        found = re.match(r"(\d+)\s+([a-z]+):\s*(.*)$", line)
        if found:
            floor[found[2]] = int(found[1])
            allowed[found[2]] = found[3].split()
    for room, rooms in allowed.items():
        if rooms == ["*"]:
            allowed[room] = [other for other in floor if other != room]
    return floor, allowed


def faults_of_plan(floor, allowed):
    for room, rooms in allowed.items():
        for other in rooms:
            if other not in floor:
                yield f"floors.txt: {room} may include {other}, which is no room"
            elif floor[other] >= floor[room] and room != "cli":
                yield f"floors.txt: {room} (floor {floor[room]}) may not look up to {other} (floor {floor[other]})"


def faults_of_file(path, text, floor, allowed):
    room = path.parts[0]
    if room not in floor:
        yield f"src/{path}: {room} is no room of floors.txt"
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+["<]([a-z]+)/', line)
        if not found or found[1] not in floor:
            continue
        if found[1] not in (room, "base") and found[1] not in allowed[room]:
            yield f"src/{path}:{number}: {room} may not include {found[1]}"


def main():
    floor, allowed = read_floors((root / "floors.txt").read_text())
    faults = list(faults_of_plan(floor, allowed))
    files = 0
    for path in sorted((root / "src").rglob("*.[hc]pp")):
        files += 1
        faults += faults_of_file(path.relative_to(root / "src"), path.read_text(), floor, allowed)
    # The check must be able to fail: a base file that includes gateway is a fault.
    probe = list(faults_of_file(pathlib.PurePath("base/x.hpp"), '#include "gateway/relay.hpp"', floor, allowed))
    if len(probe) != 1:
        faults.append("floors_check does not see a climbing include")
    print("\n".join(faults) or f"{files} files keep to the floors")
    return 1 if faults or files == 0 else 0


sys.exit(main())
