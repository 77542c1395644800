"""Clients of the chaos test: what each request is, how its client behaves, and what the client saw."""
import asyncio
import dataclasses
import json
import pathlib
import random
import socket
import struct
import subprocess
import sys

from .kit import equal
from .streams import CHAT, COMPLETIONS, MESSAGES, RESPONSES

PATIENCE_S = 30  # of one request; no request of the plan takes nearly as long
TRUE_ENDS = {CHAT: b"data: [DONE]", COMPLETIONS: b"data: [DONE]", MESSAGES: b"event: message_stop",
             RESPONSES: b"event: response.completed"}
HARMLESS = ("ok", "slow", "close_after")
FAULTS = ("busy_429", "busy_503", "error_500", "error_502", "reset_before", "close_before", "garbage", "die_mid",
          "end_mid", "no_true_end", "error_first", "error_mid")
STALLS = ("stall_before", "stall_mid")
BAD = ("no_json", "unknown_model", "no_model", "unknown_path", "wrong_method", "upgrade", "bad_head", "two_lengths")
UNNAMED = ("bad_head", "two_lengths")  # refused before an id is read


@dataclasses.dataclass
class Plan:
    number: int
    kind: str              # chat, completions, ..., or one of BAD
    path: str
    manners: tuple = ("ok",)
    stream: bool = False
    body_bytes: int = 0    # filler of the prompt
    chunked: bool = False  # how the body goes up
    leave: str = "stays"   # stays, half_body, after_send, later, at_event_fin, at_event_reset
    leave_after_s: float = 0

    @property
    def id(self):
        return f"chaos-{self.number}"


@dataclasses.dataclass
class Seen:
    """What one client saw of its answer."""
    status: int = 0
    body: bytes = b""
    complete: bool = False  # the framing said that this is all
    left: bool = False
    closed: bool = False    # by the router


def draw(number, seed):
    """The plan of one request; depends on nothing but its number and the seed."""
    random_ = random.Random(seed * 1_000_003 + number)
    kind = random_.choices(("chat", "completions", "messages", "responses", "embeddings", "models", "bad"),
                           (55, 8, 5, 5, 10, 5, 12))[0]
    if kind == "models":
        return Plan(number, kind, "/v1/models")
    if kind == "bad":
        return Plan(number, random_.choice(BAD), CHAT)
    path = {"chat": CHAT, "completions": COMPLETIONS, "messages": MESSAGES, "responses": RESPONSES,
            "embeddings": "/v1/embeddings"}[kind]
    plan = Plan(number, kind, path, stream=kind != "embeddings" and random_.random() < 0.6)
    fate = random_.random()
    if fate < 0.20:  # one fault, then perhaps another
        second = random_.choice(FAULTS) if random_.random() < 0.3 else "ok"
        plan.manners = (random_.choice(FAULTS), second, "ok")
    elif fate < 0.24:
        plan.manners = (random_.choice(STALLS),)
        plan.leave, plan.leave_after_s = "later", random_.uniform(0.02, 0.2)
    else:
        plan.manners = (random_.choices(HARMLESS, (6, 3, 1))[0],)
    if plan.leave == "stays" and random_.random() < 0.12:
        ways = ["half_body", "after_send", "later"] + (["at_event_fin", "at_event_reset"] * 2 if plan.stream else [])
        plan.leave, plan.leave_after_s = random_.choice(ways), random_.uniform(0.001, 0.05)
        if plan.leave.startswith("at_event"):
            plan.manners = ("slow",)
    if random_.random() < 0.01:
        plan.body_bytes = random_.choice((200_000, 1_200_000, 2_500_000))  # below and above what is kept for a retry
    plan.chunked = random_.random() < 0.05
    return plan


def message(plan):
    """The bytes of the request."""
    body = {"model": "m", "stream": plan.stream, "max_tokens": 8}
    text = "word " * (3 + plan.number % 40) + "x" * plan.body_bytes
    if plan.path in (CHAT, MESSAGES):
        body["messages"] = [{"role": "user", "content": text}]
    else:
        body["prompt" if plan.path == COMPLETIONS else "input"] = text
    if plan.kind == "unknown_model":
        body["model"] = "nobody"
    if plan.kind == "no_model":
        del body["model"]
    data = b"" if plan.kind == "models" else json.dumps(body).encode()
    if plan.kind == "no_json":
        data = data[:-2]
    method = "GET" if plan.kind in ("models", "wrong_method") else "POST"
    path = "/nobody/home" if plan.kind == "unknown_path" else plan.path
    lines = [f"{method} {path} HTTP/1.1", "Host: router", f"X-Request-Id: {plan.id}",
             "Content-Type: application/json", f"X-Chaos: {','.join(plan.manners)}",
             f"X-Client-Id: client-{plan.number % 7}"]
    if plan.kind == "upgrade":
        lines += ["Connection: upgrade", "Upgrade: h2c"]
    if plan.kind == "bad_head":
        lines[1] = "Ho st: router"
    if plan.kind == "two_lengths":
        lines.append("Transfer-Encoding: chunked")
    if plan.chunked:
        lines.append("Transfer-Encoding: chunked")
        pieces = [data[at:at + 50_000] for at in range(0, len(data), 50_000)]
        data = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    else:
        lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode() + data


class ChaosWorkers:
    """The misbehaving engines, in a process of their own."""

    def __init__(self, world, count, seed):
        call = [sys.executable, "-m", "support.chaos_workers", str(count), str(seed)]
        self.process = subprocess.Popen(call, cwd=pathlib.Path(__file__).parent.parent, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        world.processes.append(self)
        self.urls = [f"http://127.0.0.1:{port}" for port in json.loads(self.process.stdout.readline())]

    def become(self, mood):
        self.process.stdin.write(mood + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline().strip(), mood, "answer of the workers")

    def close(self):
        self.process.kill()
        self.process.wait()


class Leaves(Exception):
    """The client goes away, as planned."""


class Client:
    """One connection after another to the router, one request after another over each."""

    def __init__(self, port):
        self.port = port
        self.reader = self.writer = None

    async def ask(self, plan):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        seen = Seen()
        try:
            async with asyncio.timeout(plan.leave_after_s if plan.leave == "later" else PATIENCE_S):
                await self._exchange(plan, seen)
        except Leaves:
            seen.left = True
        except TimeoutError:
            assert plan.leave == "later", f"{plan}: neither answer nor end in {PATIENCE_S} s, so far {seen}"
            seen.left = True
        except (asyncio.IncompleteReadError, ConnectionError):
            seen.closed = True
        if seen.left or seen.closed or not seen.complete:
            self.close()
        return seen

    def close(self, with_reset=False):
        if self.writer is None:
            return
        if with_reset:
            linger = struct.pack("ii", 1, 0)
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()  # FIN, unless something lies unread or a reset was asked for
        self.writer = None

    async def _exchange(self, plan, seen):
        data = message(plan)
        if plan.leave == "half_body":
            self.writer.write(data[:-10])
            await self._leave()
        try:
            self.writer.write(data)
            await self.writer.drain()
        except ConnectionError:
            pass  # refused early: the answer may be there all the same
        if plan.leave == "after_send":
            await self._leave()
        await self._read_answer(plan, seen)

    async def _leave(self):
        """With FIN, after everything has gone out: what was sent must reach the router."""
        self.writer.close()
        await self.writer.wait_closed()
        self.writer = None
        raise Leaves

    async def _read_answer(self, plan, seen):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        seen.status = int(lines[0].split(" ")[1])
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if fields.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                seen.body += (await self.reader.readexactly(size + 2))[:-2]
                self._leave_at_event(plan)
            await self.reader.readexactly(2)
        elif "content-length" in fields:
            left = int(fields["content-length"])
            while left > 0:
                piece = await self.reader.read(left)
                if not piece:
                    raise asyncio.IncompleteReadError(b"", left)
                seen.body += piece
                left -= len(piece)
        else:
            seen.body += await self.reader.read(-1)
            seen.closed = True
        seen.complete = True
        if fields.get("connection") == "close":
            self.close()

    def _leave_at_event(self, plan):
        if plan.leave in ("at_event_fin", "at_event_reset"):
            self.close(with_reset=plan.leave == "at_event_reset")
            raise Leaves


async def play(port, plans, concurrency):
    """Sends all plans, so many at a time; returns {number: Seen}."""
    waiting = iter(plans)
    seen = {}

    async def work():
        client = Client(port)
        for plan in waiting:
            seen[plan.number] = await client.ask(plan)
            if seen[plan.number].status == 429:
                await asyncio.sleep(0.02)  # else most of the requests would find the pool full
        client.close()

    await asyncio.gather(*(work() for _ in range(concurrency)))
    return seen
