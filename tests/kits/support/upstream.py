"""An engine that does exactly what its script says, byte for byte.

Probes (health, model list, metrics) are answered with good manners by default, so that a script sees only
what a client asked for. A script is a list of steps: bytes are sent, a callable gets the Exchange. Scripts are
used in order, one a request; the last one repeats. After a script the connection waits for the next request.
"""
import fcntl
import errno
import json
import socket
import struct
import termios
import threading
import time

from . import wire


class Stop(Exception):
    """The script ended the connection."""


class Exchange:
    """One request on one connection, and what a script can do with it."""

    def __init__(self, upstream, sock, head, body):
        self.upstream = upstream
        self.sock = sock
        self.head = head
        self.body = body
        self.method, self.path, _ = head.split("\r\n")[0].split(" ", 2)
        self.headers = [(name.lower(), value.strip())
                        for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])]

    def header(self, name):
        values = [value for key, value in self.headers if key == name]
        return values[0] if values else None

    def send(self, data):
        """Sends and waits until the other side has read it, so that two sends never arrive as one."""
        self.sock.sendall(data)
        self.until_read()

    def until_read(self):
        here, there = self.sock.getsockname(), self.sock.getpeername()
        deadline = time.monotonic() + wire.PATIENCE_S
        while unread_bytes(there[1], here[1]) or unsent_bytes(self.sock):
            if time.monotonic() > deadline:
                raise AssertionError("the router stopped reading")
            time.sleep(0.0005)

    def until_peer_closes(self):
        self.upstream.waiting_for_close.set()
        try:
            while self.sock.recv(65536):
                pass
        except ConnectionResetError:
            pass
        self.upstream.saw_close.set()
        raise Stop

    def reset(self):
        wire.reset(self.sock)
        raise Stop

    def close(self):
        self.sock.close()
        raise Stop


# Steps with names.
def RESET(exchange):
    exchange.reset()


def CLOSE(exchange):
    exchange.close()


def HALF_CLOSE(exchange):
    exchange.sock.shutdown(socket.SHUT_WR)
    exchange.until_peer_closes()


def UNTIL_PEER_CLOSES(exchange):
    exchange.until_peer_closes()


def WAIT(event):
    """A pause that an event of the test ends."""
    def step(exchange):
        if not event.wait(wire.PATIENCE_S):
            raise AssertionError("the test never let the script go on")
    return step


def BYTE_BY_BYTE(data):
    def step(exchange):
        for at in range(len(data)):
            exchange.send(data[at:at + 1])
    return step


def FLOOD(data):
    """Sends without waiting for the router to read it."""
    return lambda exchange: exchange.sock.sendall(data)


def json_answer(document, status="200 OK", *lines):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return wire.head(status, "Content-Type: application/json", f"Content-Length: {len(body)}", *lines) + body


class Upstream:
    def __init__(self, *scripts, models=("m",), probes=None, reads_bodies=True):
        self.scripts = list(scripts)
        self.models = models
        self.probes = probes or {}
        self.reads_bodies = reads_bodies
        self.exchanges = []
        self.connections = 0
        self.faults = []
        self.saw_close = threading.Event()
        self.waiting_for_close = threading.Event()
        self._lock = threading.Lock()
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def requests(self):
        """What clients' requests arrived, probes left out."""
        with self._lock:
            return list(self.exchanges)

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                self._open.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            while True:
                exchange = self._read_request(sock)
                if exchange is None:
                    return
                self._answer(exchange)
        except (Stop, ConnectionError):
            pass
        except OSError as fault:
            if fault.errno != errno.ENOTCONN:  # the other side was reset a moment ago
                self.faults.append(f"{type(fault).__name__}: {fault}")
        except Exception as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")
        finally:
            with self._lock:
                self._open.discard(sock)
            sock.close()

    def _read_request(self, sock):
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return None
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        exchange = Exchange(self, sock, head.decode("latin-1"), b"")
        if not self.reads_bodies:
            return exchange
        if exchange.header("transfer-encoding"):
            while True:
                cut = wire.Reply(wire.head("200 OK", "Transfer-Encoding: chunked") + body, None)
                if cut.complete:
                    exchange.body = cut.body
                    return exchange
                body += self._must_read(sock)
        length = int(exchange.header("content-length") or 0)
        pieces, have = [body], len(body)
        while have < length:
            pieces.append(self._must_read(sock))
            have += len(pieces[-1])
        exchange.body = b"".join(pieces)
        return exchange

    @staticmethod
    def _must_read(sock):
        more = sock.recv(1 << 20)
        if not more:
            raise Stop
        return more

    def _answer(self, exchange):
        path = exchange.path.split("?")[0]
        if path in self.probes:
            script = self.probes[path]
        elif exchange.method == "GET" and path == "/v1/models":
            listed = [{"id": name, "object": "model", "owned_by": "kit"} for name in self.models]
            script = [json_answer({"object": "list", "data": listed})]
        elif exchange.method == "GET" and path == "/health":
            script = [json_answer(b"{}")]
        elif exchange.method == "GET" and (path == "/v1/loads" or not path.startswith("/v1/")):
            script = [json_answer({"detail": "Not Found"}, "404 Not Found")]
        else:
            with self._lock:
                self.exchanges.append(exchange)
                script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        for step in script:
            if isinstance(step, bytes):
                exchange.send(step)
            else:
                step(exchange)

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept, which close alone does not
        except OSError:
            pass
        self._listener.close()
        with self._lock:
            for sock in self._open:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def unread_bytes(local_port, remote_port):
    """What lies unread in the receive queue of the loopback connection's other end (Linux: /proc/net/tcp)."""
    local, remote = f":{local_port:04X}", f":{remote_port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            words = line.split()
            if words[1].endswith(local) and words[2].endswith(remote):
                return int(words[4].split(":")[1], 16)
    return 0


def unsent_bytes(sock):
    """What the other kernel has not acknowledged yet (SIOCOUTQ)."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))[0]
