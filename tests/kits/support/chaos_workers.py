"""Engines that misbehave as each request asks: `python3 -m support.chaos_workers COUNT SEED`.

Prints the ports as one JSON line. A request's X-Chaos header lists manners, one an attempt: the first worker
that sees an id follows the first, the next the second, so that a retry may meet another fate. Lines on
standard input steer all workers: while "rough" each stops listening now and then (connection refused),
"calm" keeps them all listening, and its answer "calm" on standard output says so.
"""
import asyncio
import json
import random
import socket
import struct
import sys

from .streams import DONE, FINISH, FIRST, MESSAGE_DELTA, MESSAGE_START, MESSAGE_STOP, RESPONSE_CREATED, RESPONSE_DELTA
from .streams import SECOND, SSE, SSE_HEAD, TEXT_FIRST, USAGE, event, response_end
from .upstream import json_answer
from .wire import chunk, head

END = b"0\r\n\r\n"
EVENTS = {
    "/v1/chat/completions": ([FIRST, SECOND, SECOND, FINISH, USAGE], DONE),
    "/v1/completions": ([TEXT_FIRST, TEXT_FIRST, TEXT_FIRST], DONE),
    "/v1/messages": ([MESSAGE_START, MESSAGE_DELTA, MESSAGE_DELTA], MESSAGE_STOP),
    "/v1/responses": ([RESPONSE_CREATED, RESPONSE_DELTA, RESPONSE_DELTA], response_end("completed")),
}
WHOLE = {"id": "r1", "object": "chat.completion", "model": "m", "data": [{"index": 0, "embedding": [0.5] * 16}],
         "choices": [{"index": 0, "message": {"role": "assistant", "content": "one two"}, "finish_reason": "stop"}],
         "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
ERROR = {"error": {"message": "the engine failed", "type": "server_error", "param": None, "code": 500}}
STATUSES = {"busy_429": "429 Too Many Requests", "busy_503": "503 Service Unavailable",
            "error_500": "500 Internal Server Error", "error_502": "502 Bad Gateway"}


class Gone(Exception):
    """The connection has been ended, by the manner or by the router."""


def reset(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise Gone


class Worker:
    def __init__(self, shared, port):
        self.shared = shared
        self.port = port
        self.idle = set()
        self.server = None

    async def listen(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=512)
        self.port = self.server.sockets[0].getsockname()[1]

    async def refuse_for(self, seconds):
        """Nobody listens, and connections that were kept are gone."""
        self.server.close()
        self.drop_idle()
        await asyncio.sleep(seconds)
        await self.listen()

    def drop_idle(self):
        for writer in list(self.idle):
            writer.close()

    async def _serve(self, reader, writer):
        try:
            while True:
                self.idle.add(writer)
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                self.idle.discard(writer)
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
                body = await self._read_body(reader, fields)
                await self._answer(reader, writer, lines[0].split(" "), fields, body)
        except (Gone, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.idle.discard(writer)
            writer.close()

    @staticmethod
    async def _read_body(reader, fields):
        if "transfer-encoding" not in fields:
            return await reader.readexactly(int(fields.get("content-length", 0)))
        pieces = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            pieces.append((await reader.readexactly(size + 2))[:-2])
        await reader.readline()
        return b"".join(pieces)

    async def _answer(self, reader, writer, request_line, fields, body):
        method, path = request_line[:2]
        if method == "GET":
            known = {"/v1/models": {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 32768}]}, "/health": {}}
            known = known.get(path)
            writer.write(json_answer({}, "404 Not Found") if known is None else json_answer(known))
            return await writer.drain()
        manner = self.shared.manner_of(fields)
        document = json.loads(body)
        if manner == "stall_before":
            await self._until_closed(reader)
        if manner == "reset_before":
            reset(writer)
        if manner == "close_before":
            raise Gone
        if manner == "garbage":
            writer.write(b"HTTP/1.1 nonsense\r\n\r\n")
            raise Gone
        if manner in STATUSES:
            writer.write(json_answer(ERROR, STATUSES[manner]))
        elif document.get("stream"):
            await self._stream(reader, writer, manner, *EVENTS[path])
        else:
            await self._whole(reader, writer, manner)
        await writer.drain()
        if manner == "close_after":
            raise Gone

    async def _whole(self, reader, writer, manner):
        answer = json_answer(WHOLE)
        if manner in ("die_mid", "end_mid", "stall_mid"):
            writer.write(answer[:-20])
            await self._break_off(reader, writer, manner)
        writer.write(answer)

    async def _stream(self, reader, writer, manner, events, end):
        if manner == "error_first":
            writer.write(SSE_HEAD + chunk(event(ERROR)) + chunk(DONE) + END)
            return
        writer.write(head("200 OK", SSE, "Connection: close") if manner == "close_after" else SSE_HEAD)
        framed = (lambda data: data) if manner == "close_after" else chunk
        for at, data in enumerate(events):
            writer.write(framed(data))
            await writer.drain()
            if manner == "slow":
                await asyncio.sleep(0.01)
            if at == 1:
                if manner == "error_mid":
                    writer.write(chunk(event(ERROR)) + chunk(DONE) + END)
                    return
                await self._break_off(reader, writer, manner)
        if manner != "no_true_end":
            writer.write(framed(end))
        if manner != "close_after":
            writer.write(END)

    async def _break_off(self, reader, writer, manner):
        if manner == "stall_mid":
            await self._until_closed(reader)
        if manner == "die_mid":
            await writer.drain()
            reset(writer)
        if manner == "end_mid":
            raise Gone

    @staticmethod
    async def _until_closed(reader):
        while await reader.read(65536):
            pass
        raise Gone


class Workers:
    def __init__(self, count, seed):
        self.random = random.Random(seed)
        self.attempts = {}
        self.calm = asyncio.Event()
        self.calm.set()
        self.workers = [Worker(self, 0) for _ in range(count)]

    def manner_of(self, fields):
        manners = fields.get("x-chaos", "ok").split(",")
        attempt = self.attempts.get(fields.get("x-request-id"), 0)
        self.attempts[fields.get("x-request-id")] = attempt + 1
        return manners[min(attempt, len(manners) - 1)]

    async def _refuse_now_and_then(self, worker):
        while True:
            await asyncio.sleep(self.random.uniform(0.3, 1.5))
            if not self.calm.is_set():
                await worker.refuse_for(self.random.uniform(0.02, 0.2))

    async def run(self):
        for worker in self.workers:
            await worker.listen()
        print(json.dumps([worker.port for worker in self.workers]), flush=True)
        kept = [asyncio.create_task(self._refuse_now_and_then(worker)) for worker in self.workers]
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "rough":
                self.calm.clear()
            else:
                self.calm.set()
                while not all(worker.server.is_serving() for worker in self.workers):
                    await asyncio.sleep(0.01)
                for worker in self.workers:
                    worker.drop_idle()
                self.attempts.clear()
            print(line.strip(), flush=True)
        for task in kept:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(Workers(int(sys.argv[1]), int(sys.argv[2])).run())
