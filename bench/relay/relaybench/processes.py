"""Children that cannot outlive the benchmark, and what the kernel tells about them."""

import ctypes
import os
import random
import resource
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class BenchError(Exception):
    """Something under measurement went wrong; the text says what."""


def raise_descriptor_limit():
    """To the hard limit, for us and the children: a thousand streams are two thousand sockets of a proxy."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Child:
    """A process pinned to one core. It gets SIGTERM if we die, and its output goes to a file."""

    def __init__(self, command, log_path, core=None, env=None, stdout=None):
        def before_exec():
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if core is not None:
                os.sched_setaffinity(0, {core})

        self.command = command
        self.log_path = log_path
        with open(log_path, "ab") as log:
            try:
                # Its own session: a Ctrl-C reaches us alone, and we end the children in order.
                self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log,
                                              preexec_fn=before_exec, start_new_session=True,
                                              env={**os.environ, **(env or {})}, text=True)
            except OSError as error:
                raise BenchError(f"cannot start {command[0]}: {error.strerror}") from error

    def alive(self):
        return self.popen.poll() is None

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:].strip()

    def stop(self, pid=None, seconds=10):
        """SIGTERM to `pid` (default: the child), SIGKILL to all that is left after `seconds`."""
        if not self.alive():
            return
        tree = family(self.popen.pid)
        os.kill(pid or self.popen.pid, signal.SIGTERM)
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            for member in tree:
                try:
                    os.kill(member, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.popen.wait()


def family(root):
    """`root` and its descendants, as /proc has them now."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def cpu_seconds(pids):
    """User plus system time of whole processes, all threads, to the nanosecond.

    The same time that /proc/PID/stat shows in hundredths of a second: read through the process's CPU clock
    (CLOCK ids of other processes are (~pid << 3) | CPUCLOCK_SCHED).
    """
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def status_kib(pids, field):
    """A memory field of /proc/PID/status (VmRSS, VmHWM), summed, in KiB."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith(field + ":"):
                    total += int(line.split()[1])
    return total


def reset_peak(pids):
    """Sets VmHWM back to the present resident size."""
    for pid in pids:
        with open(f"/proc/{pid}/clear_refs", "w", encoding="utf-8") as clear_refs:
            clear_refs.write("5")


def free_ports(count):
    """Free loopback ports below the kernel's ephemeral range, so that no outgoing connection takes them."""
    found = []
    for port in random.sample(range(10_000, 20_000), 500):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise BenchError(f"no {count} free ports between 10000 and 20000")
