#!/usr/bin/env python3
"""The benchmark's tools notice what a proxy gets wrong, count what they say they count, and judge by gate.json.

usage: tools_check.py FOLDER_OF_THE_BUILT_TOOLS. A proxy of our own relays answers after changing them.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from relaybench import gating  # noqa: E402

TOOLS = sys.argv.pop() if len(sys.argv) > 1 else ""
ENDS = (b"}}", b"\r\n0\r\n\r\n")


class Meddler:
    """Accepts connections, relays each request, and sends each whole answer through `change`."""

    def __init__(self, upstream_port, change):
        self.upstream_port, self.change = upstream_port, change
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        with client, socket.create_connection(("127.0.0.1", self.upstream_port)) as upstream:
            try:
                while request := client.recv(65536):
                    upstream.sendall(request)
                    answer = whole_answer(upstream)
                    changed = self.change(answer)
                    client.sendall(changed)
                    if len(changed) < len(answer):
                        return
            except ConnectionError:
                return  # a load that has seen enough hangs up


def whole_answer(upstream):
    answer = b""
    while not answer.endswith(ENDS):
        piece = upstream.recv(65536)
        if not piece:
            raise ConnectionError("the upstream hung up")
        answer += piece
    return answer


def in_small_chunks(answer):
    """The same stream, cut into chunks of seven bytes with an extension, and with a trailer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        data, body = data + body[:int(size, 16)], body[int(size, 16) + 2:]
    chunks = [data[i:i + 7] for i in range(0, len(data), 7)]
    return (head + b"\r\n\r\n" + b"".join(b"%x;a=b\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
            + b"0\r\nx: y\r\n\r\n")


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.upstream = subprocess.Popen([os.path.join(TOOLS, "bench_upstream"), "--limit-seconds", "120"],
                                        stdout=subprocess.PIPE, text=True)
        cls.port = json.loads(cls.upstream.stdout.readline())["base_port"]

    @classmethod
    def tearDownClass(cls):
        cls.upstream.terminate()
        cls.upstream.wait()
        cls.upstream.stdout.close()

    def load(self, port, *arguments):
        command = [os.path.join(TOOLS, "bench_load"), "--port", str(port), "--limit-seconds", "20", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr, done.stdout.splitlines()[-1:]

    def through(self, change, *arguments):
        meddler = Meddler(self.port, change)
        try:
            return self.load(meddler.port, *arguments)
        finally:
            meddler.listener.close()

    def unary(self, change):
        return self.through(change, "unary", "--connections", "2", "--requests", "6")

    def streams(self, change):
        return self.through(change, "streams", "--streams", "2", "--events", "5")

    def assert_refused(self, result, why):
        code, message, _ = result
        self.assertEqual(code, 1)
        self.assertIn(why, message)

    def test_counts_every_request_and_event_of_an_honest_proxy(self):
        code, _, report = self.unary(lambda answer: answer)
        self.assertEqual((code, json.loads(report[0])["requests"]), (0, 6))
        code, _, report = self.streams(lambda answer: answer)
        self.assertEqual((code, json.loads(report[0])["events"]), (0, 10))

    def test_follows_chunks_cut_anywhere(self):
        code, message, report = self.streams(in_small_chunks)
        self.assertEqual((code, message, json.loads(report[0])["events"]), (0, "", 10))

    def test_large_bodies_arrive_whole(self):
        code, message, report = self.load(self.port, "upload", "--bytes", "3000000", "--connections", "2",
                                          "--requests", "4")
        self.assertEqual((code, message, json.loads(report[0])["requests"]), (0, "", 4))

    def test_one_wrong_byte_fails(self):
        self.assert_refused(self.unary(lambda answer: answer.replace(b"assistant", b"assistanT")), "answer differs")
        self.assert_refused(self.streams(lambda answer: answer.replace(b"choices", b"choiceS", 3)), "differs")

    def test_a_status_other_than_200_fails(self):
        self.assert_refused(self.unary(lambda answer: answer.replace(b"200 OK", b"502 No")), "status")
        self.assert_refused(self.streams(lambda answer: answer.replace(b"200 OK", b"502 No")), "status")

    def test_an_answer_cut_short_fails(self):
        self.assert_refused(self.unary(lambda answer: answer[:-1]), "closed")
        self.assert_refused(self.streams(lambda answer: answer[:-5]), "cut")

    def test_a_lost_event_fails(self):
        self.assert_refused(self.streams(lambda answer: re.sub(rb"c8\r\n.{200}\r\n", b"", answer, count=1, flags=re.S)),
                            "stream")

    def test_a_true_end_without_done_fails(self):
        self.assert_refused(self.streams(lambda answer: answer.replace(b"[DONE]", b"[OVER]")), "end of a stream")

    def test_allocations_are_counted_once_each(self):
        code = ("import ctypes, sys\nmalloc = ctypes.CDLL(None).malloc\nmalloc.restype = ctypes.c_void_p\n"
                "for _ in range(int(sys.argv[1])): malloc(64)")

        def count(calls):
            with tempfile.NamedTemporaryFile() as file:
                file.write(bytes(8))
                file.flush()
                library = os.path.join(TOOLS, "libbench_allocation_counter.so")
                subprocess.run([sys.executable, "-c", code, str(calls)], check=True,
                               env={**os.environ, "LD_PRELOAD": library, "ALLOCATION_COUNT_FILE": file.name})
                file.seek(0)
                return int.from_bytes(file.read(8), sys.byteorder)

        # The interpreter's own allocations differ by a handful between runs.
        self.assertAlmostEqual(count(30_000) - count(10_000), 20_000, delta=200)


class Gate(unittest.TestCase):
    def judged(self, found):
        gate = {"goals": {"event": {"instructions": 2500, "allocations": 0}},
                "held": {"event": {"instructions": 3000, "system_calls": 3.1}}, "goal_tolerance": {"allocations": 0.02}}
        return {row.count: (row.within, row.met) for row in gating.judge({"event": found}, gate)}

    def test_above_what_is_held_fails_and_above_the_goal_is_not_met(self):
        self.assertEqual(self.judged({"instructions": 2500}), {"instructions": (True, True)})
        self.assertEqual(self.judged({"instructions": 3000}), {"instructions": (True, False)})
        self.assertEqual(self.judged({"instructions": 3001}), {"instructions": (False, False)})

    def test_a_limit_that_is_not_given_is_none(self):
        self.assertEqual(self.judged({"system_calls": 3.2, "allocations": 7}),
                         {"system_calls": (False, True), "allocations": (True, False)})
        self.assertEqual(self.judged({"allocations": 0.02}), {"allocations": (True, True)})

    def test_what_is_held_is_known_for_each_count_and_not_below_zero(self):
        gate = gating.load()
        for unit in gate["goals"]:
            for count in gating.COUNTS:
                self.assertGreater(gate["held"][unit][count], 0)


if __name__ == "__main__":
    if not TOOLS:
        sys.exit(__doc__)
    unittest.main(verbosity=1)
