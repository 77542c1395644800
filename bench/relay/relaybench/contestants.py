"""Starts the proxies that contestants/contestants.json describes, all in front of the same upstreams."""

import grp
import http.client
import json
import os
import pwd
import shutil
import subprocess
import time

from .processes import BenchError, Child, family, free_ports

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UPSTREAMS = 8


def load():
    with open(os.path.join(HERE, "contestants", "contestants.json"), encoding="utf-8") as file:
        return json.load(file)


class Lab:
    """A scratch folder, the built tools, the upstreams, and every child started; ends all of it."""

    def __init__(self, folder, tools, evenkeel, load_core=None):
        self.folder, self.tools, self.evenkeel, self.load_core = folder, tools, evenkeel, load_core
        self.children = []
        self.upstream_port = None

    def child(self, name, command, **options):
        child = Child(command, os.path.join(self.folder, name + ".log"), **options)
        self.children.append(child)
        return child

    def start_upstreams(self, limit_seconds):
        command = [os.path.join(self.tools, "bench_upstream"), "--count", str(UPSTREAMS),
                   "--limit-seconds", str(limit_seconds)]
        upstream = self.child("upstream", command, core=self.load_core, stdout=subprocess.PIPE)
        line = upstream.popen.stdout.readline()
        if not line:
            raise BenchError("bench_upstream: " + upstream.log())
        self.upstream_port = json.loads(line)["base_port"]

    def stop_all(self):
        for child in reversed(self.children):
            child.stop()
        self.children.clear()


class Proxy:
    """One running contestant."""

    def __init__(self, lab, name, spec, core=None, wrapper=(), env=None, ready_seconds=20):
        self.lab, self.name = lab, name
        self.port, admin_port = free_ports(2)
        self.folder = os.path.join(lab.folder, f"{name}.{self.port}")
        os.mkdir(self.folder)
        values = {"PORT": self.port, "ADMIN_PORT": admin_port, "FOLDER": self.folder, "EVENKEEL": lab.evenkeel,
                  "USER": pwd.getpwuid(os.getuid()).pw_name, "GROUP": grp.getgrgid(os.getgid()).gr_name}
        values |= {f"UPSTREAM_{i}": lab.upstream_port + i for i in range(UPSTREAMS)}
        if "config" in spec:
            values["CONFIG"] = self._write_config(spec["config"], values)
        command = list(wrapper) + self._expand(spec["command"], values)
        self.child = lab.child(f"{name}.{self.port}", command, core=core, env=env)
        self._wait_ready(spec["ready"], ready_seconds)
        self.pids = family(self.child.popen.pid)

    def _write_config(self, template, values):
        path = os.path.join(self.folder, template)
        with open(os.path.join(HERE, "contestants", template), encoding="utf-8") as source:
            text = source.read()
        with open(path, "w", encoding="utf-8") as target:
            target.write(substitute(text, values))
        return path

    def _expand(self, command, values):
        words = []
        for word in command:
            if word == "@UPSTREAM_URLS@":
                words += [f"http://127.0.0.1:{self.lab.upstream_port + i}" for i in range(UPSTREAMS)]
            else:
                words.append(substitute(word, values))
        return words

    def _wait_ready(self, path, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not self.child.alive():
                raise BenchError(f"{self.name} ended at once: {self.child.log()}")
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.03)
        raise BenchError(f"{self.name} was not ready within {seconds} s: {self.child.log()}")

    def stop(self, pid=None, seconds=10):
        self.child.stop(pid, seconds)


def substitute(text, values):
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def missing(spec, evenkeel):
    """The program a contestant lacks, or None."""
    program = substitute(spec["command"][0], {"EVENKEEL": evenkeel})
    return None if shutil.which(program) else program


def version(spec, evenkeel):
    command = [substitute(word, {"EVENKEEL": evenkeel}) for word in spec["version"]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20, check=False)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"
