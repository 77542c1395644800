"""HTTP/1.1 as bytes: a client that sends whatever it is told, a reply as it came, and chunks by hand."""
import json
import socket
import struct

PATIENCE_S = 60


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked(*pieces):
    return b"".join(chunk(piece) for piece in pieces) + b"0\r\n\r\n"


def head(status="200 OK", *lines, version="HTTP/1.1"):
    return "\r\n".join([f"{version} {status}", *lines, "", ""]).encode()


def request(path="/v1/chat/completions", body=b"", *lines, method="POST", version="HTTP/1.1"):
    """A well-formed request; a dict body becomes JSON. Extra header lines come as they are given."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    own = ["Host: router", "Content-Type: application/json"]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
        own.append(f"Content-Length: {len(body)}")
    return "\r\n".join([f"{method} {path} {version}", *own, *lines, "", ""]).encode() + body


def reset(sock):
    """Closes with RST instead of FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class Reply:
    """One response cut from a byte stream. `complete` means the framing said so: last chunk, length reached,
    no body allowed, or FIN where nothing else delimits. `rest` is what follows it."""

    def __init__(self, raw, ended, to_head=False):
        self.interim = []
        self.status = None
        self.headers = []
        self.body = b""
        self.complete = False
        self.rest = b""
        self.ended = ended
        while self.status is None or 100 <= self.status < 200:
            if self.status is not None:
                self.interim.append(self.status)
            end = raw.find(b"\r\n\r\n")
            if end < 0:
                self.status = None
                self.rest = raw
                return
            lines = raw[:end].decode("latin-1").split("\r\n")
            self.status = int(lines[0].split(" ")[1])
            self.version = lines[0].split(" ")[0]
            self.headers = [(name.lower(), value.strip())
                            for name, _, value in (line.partition(":") for line in lines[1:])]
            raw = raw[end + 4:]
        if to_head or self.status in (204, 304):
            self.complete, self.rest = True, raw
        elif self.header("transfer-encoding") == "chunked":
            self._dechunk(raw)
        elif self.header("content-length") is not None:
            length = int(self.header("content-length"))
            self.body, self.rest = raw[:length], raw[length:]
            self.complete = len(self.body) == length
        else:
            self.body = raw
            self.complete = ended == "fin"

    def _dechunk(self, raw):
        while True:
            size_line, found, after = raw.partition(b"\r\n")
            if not found:
                return
            size = int(size_line.split(b";")[0], 16)
            if size == 0:
                break
            self.body += after[:size]
            if len(after) < size + 2:
                return
            assert after[size:size + 2] == b"\r\n", f"chunk not closed: {after[size:size + 2]!r}"
            raw = after[size + 2:]
        while not after.startswith(b"\r\n"):  # trailer fields
            line, found, after = after.partition(b"\r\n")
            if not found:
                return
        self.complete, self.rest = True, after[2:]

    def header(self, name):
        values = [value for key, value in self.headers if key == name]
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)

    def events(self):
        """[(event name or None, data)] by the rules of server-sent events; an unfinished last one counts."""
        text = self.body.decode("utf-8", "replace").removeprefix("\ufeff")
        found, name, data = [], None, []
        for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "":
                if data:
                    found.append((name, "\n".join(data)))
                name, data = None, []
            elif field == "data":
                data.append(value)
            elif field == "event":
                name = value
        return found


class Client:
    """One connection to the router. Reads are bounded; nothing is sent that was not asked for."""

    def __init__(self, port, data=b"", host="127.0.0.1"):
        self.sock = socket.create_connection((host, port), timeout=PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = b""
        self.ended = None
        if data:
            self.send(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)

    def offer(self, data):
        """Sends what the other side takes: it may refuse the rest and close."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def _more(self):
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            self.ended = "reset"
            return
        except socket.timeout:
            raise AssertionError(f"no byte and no end for {PATIENCE_S} s after {self.raw[-300:]!r}") from None
        if data:
            self.raw += data
        else:
            self.ended = "fin"

    def reply(self, to_head=False):
        """The next response, read to its end or to the end of the connection."""
        while True:
            reply = Reply(self.raw, self.ended, to_head)
            if reply.complete:
                self.raw = reply.rest
                return reply
            if self.ended:
                return reply
            self._more()

    def whole_bytes(self):
        """The next response as it came on the wire, framing and all."""
        while not self.ended and not Reply(self.raw, self.ended).complete:
            self._more()
        return self.raw

    def so_far(self, marker):
        """Reads until the body of the current response holds the marker."""
        while marker not in Reply(self.raw, self.ended).body:
            assert not self.ended, f"ended ({self.ended}) before {marker!r}: {self.raw[-600:]!r}"
            self._more()

    def until_closed(self):
        """Everything up to the end of the connection."""
        while not self.ended:
            self._more()
        return self.raw

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        reset(self.sock)

    def close(self):
        self.sock.close()
