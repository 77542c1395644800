"""A network of its own for a kit: nodes in network namespaces, on two switches with one cable between them, which can
be pulled. Needs root, util-linux and iproute2; nothing of the machine's own network is touched."""
import os
import shutil
import subprocess
import sys

MARK = "EVENKEEL_KIT_NETWORK"


def why_not():
    """The reason why there can be no such network here; none if there can."""
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            return f"there is no {tool}"
    # What kits do: a namespace, one within it, a cable, a switch.
    trial = ("ip link set lo up && unshare --net true && ip link add name one type veth peer name two && "
             "ip link add name three type bridge")
    result = subprocess.run(["unshare", "--net", "sh", "-c", trial], capture_output=True, text=True)
    if result.returncode != 0:
        said = result.stderr.strip().splitlines() or ["no word"]
        return f"no network namespaces here: {said[-1]}"
    return None


def enter():
    """Starts this script again in an empty network, or ends it with 77 where that cannot be. The network is gone with
    the script."""
    if MARK in os.environ:
        run("ip", "link", "set", "lo", "up")
        return
    reason = why_not()
    if reason:
        print(f"SKIP {reason}")
        sys.exit(77)
    os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, MARK: "1"})


def run(*call):
    subprocess.run(call, check=True, stdin=subprocess.DEVNULL)


class Node:
    """A namespace that lives as long as its process; `before` takes a command there."""

    def __init__(self, number):
        self.number = number
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == own:
            assert self.process.poll() is None, "unshare ended"
        self.before = ("nsenter", f"--net=/proc/{self.process.pid}/ns/net")
        self.address = f"10.0.0.{number}"
        self.from_kit = f"10.1.{number}.2"  # by a cable that only the kit has
        run(*self.before, "ip", "link", "set", "lo", "up")
        self._plug(f"kit{number}", "kit", self.from_kit, 24)
        run("ip", "address", "add", f"10.1.{number}.1/24", "dev", f"kit{number}")

    def _plug(self, here, there, address, bits):
        run("ip", "link", "add", "name", here, "type", "veth", "peer", "name", there, "netns", str(self.process.pid))
        run("ip", "link", "set", here, "up")
        run(*self.before, "ip", "address", "add", f"{address}/{bits}", "dev", there)
        run(*self.before, "ip", "link", "set", there, "up")

    def join(self, switch):
        self._plug(f"port{self.number}", "lan", self.address, 24)
        run("ip", "link", "set", f"port{self.number}", "master", switch)

    def close(self):
        for device in (f"kit{self.number}", f"port{self.number}"):
            run("ip", "link", "delete", device)
        self.process.kill()
        self.process.wait()


class Network:
    """Nodes on two switches; it ends with its world."""

    def __init__(self, world, left, right):
        self.nodes = []
        world.processes.append(self)
        for switch in ("left", "right"):
            run("ip", "link", "add", "name", switch, "type", "bridge")
            run("ip", "link", "set", switch, "up")
        run("ip", "link", "add", "name", "cable", "type", "veth", "peer", "name", "cable-end")
        for end, switch in (("cable", "left"), ("cable-end", "right")):
            run("ip", "link", "set", end, "master", switch)
            run("ip", "link", "set", end, "up")
        for switch, count in (("left", left), ("right", right)):
            for _ in range(count):
                self.nodes.append(Node(len(self.nodes) + 1))
                self.nodes[-1].join(switch)
        self.left, self.right = self.nodes[:left], self.nodes[left:]

    def cut(self):
        run("ip", "link", "set", "cable", "down")

    def heal(self):
        run("ip", "link", "set", "cable", "up")

    def close(self):
        for node in self.nodes:
            node.close()
        for device in ("cable", "left", "right"):
            run("ip", "link", "delete", device)


if __name__ == "__main__":  # whether kits that need it are skipped
    sys.exit(77 if why_not() else 0)
