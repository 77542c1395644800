#!/usr/bin/env python3
"""Prefill and decode on separate workers: what goes to whom byte for byte, failures on either leg, leases, clients that
leave. Scripted engines where bytes matter, `evenkeel emulate --role` where the engines' own counts are the judge."""
import collections
import json
import random
import threading
import time
import urllib.request

from support import kit, wire
from support.kit import case, cases, equal, option, until
from support.router import Emulator
from support.streams import CHAT, CHAT_STREAM, COMPLETIONS, ask, in_chunks
from support.upstream import RESET, UNTIL_PEER_CLOSES, WAIT, json_answer
from support.wire import Client

option("--requests", type=int, default=1000, help="of the case with failures on either leg")

PARAMS = '{"do_remote_prefill":true, "remote_block_ids":[[7, 8],[]],"remote_host":"h","future":{"x":1.50}}'
WHOLE = json_answer({"id": "r1", "object": "chat.completion", "model": "m", "choices": [],
                     "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
STREAM = [in_chunks(CHAT_STREAM)]
RETRIES = ("--retry-budget", "1", "--breaker-faults", "0")


def handing(params=PARAMS):
    """A prefill engine's answer."""
    return json_answer(('{"id":"p","choices":[{"text":"t"}],"kv_transfer_params":' + params +
                        ',"usage":{"prompt_tokens":41,"completion_tokens":1}}').encode())


def split(world, prefill, decode, flags=(), settings="", workers="", kind="vllm", ready=True):
    """A router in front of workers with these roles. The prefill engines of SGLang are met at their own port."""
    text = f'{settings}\n'
    for role, engines in (("prefill", prefill), ("decode", decode)):
        for engine in engines:
            text += f'[[workers]]\nurl = "{engine.url}"\nrole = "{role}"\nengine = "{kind}"\n{workers}\n'
            if kind == "sglang" and role == "prefill":
                text += f'bootstrap_port = {port_of(engine)}\n'
    path = world.folder / f"router-{len(world.routers)}.toml"
    path.write_text(text)
    return world.router(flags=("--config", path, "--health-interval", "50ms", *flags), ready=ready)


def port_of(engine):
    return int(engine.url.rsplit(":", 1)[1])


def metric(router, name):
    for line in router.admin("/metrics").decode().splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no metric {name}")


def transfers(router):
    """begun, used, expired, repeated"""
    return tuple(metric(router, f"evenkeel_transfers{end}") for end in
                 ("_total", "_used_total", "_expired_total", "_repeated_total"))


def name_of(engine):
    return engine.url.removeprefix("http://")


def reply_to(router, request):
    with Client(router.port) as client:
        client.offer(request)  # what cannot be served is answered before all of it has been read
        return client.reply()


@cases({"stream": (True,), "whole": (False,)})
def what_the_two_legs_carry(world, stream):
    prefill, decode = world.upstream([handing()]), world.upstream(STREAM if stream else [WHOLE])
    router = split(world, [prefill], [decode])
    body = (b'{"model" : "m", "stream":%s, "max_tokens":9, "messages":[{"role":"user","content":"h\\u00e4}"}],\n'
            b' "min_tokens":2, "kv_transfer_params":{"remote_host":"evil"}, "x":1.0 }\n'
            % (b'true, "stream_options":{"include_usage":true}' if stream else b"false"))
    reply = reply_to(router, wire.request(CHAT, body, "X-Request-Id: abc"))
    equal((reply.status, reply.complete), (200, True), "status")
    equal(reply.header("x-evenkeel-prefill-worker"), name_of(prefill), "prefill worker")
    equal(reply.header("x-evenkeel-worker"), name_of(decode), "worker")
    equal(reply.header("x-evenkeel-attempt"), "1", "attempt")
    (first,), (second,) = prefill.requests(), decode.requests()
    equal((first.header("x-request-id"), second.header("x-request-id")), ("abc", "abc"), "ids")
    asked = json.loads(first.body)
    equal(asked.pop("kv_transfer_params"),
          {"do_remote_decode": True, "do_remote_prefill": False, "remote_engine_id": None, "remote_block_ids": None,
           "remote_host": None, "remote_port": None}, "what is asked of the prefill engine")
    equal(asked, {"model": "m", "stream": False, "max_tokens": 1, "x": 1.0,
                  "messages": [{"role": "user", "content": "h\u00e4}"}]}, "the rest of its body")
    evil = b', "kv_transfer_params":{"remote_host":"evil"}'
    blanked = body.replace(evil, b" " * len(evil))
    end = blanked.rindex(b"}")
    equal(second.body, blanked[:end] + b',"kv_transfer_params":' + PARAMS.encode() + blanked[end:], "decode body")
    equal(transfers(router), (1, 1, 0, 0), "transfers")


@case
def nothing_handed_over_means_that_the_decode_engine_prefills(world):
    prefill, decode = world.upstream([handing("null")]), world.upstream(STREAM)
    router = split(world, [prefill], [decode])
    request = ask()
    equal(reply_to(router, request).status, 200, "status")
    equal(decode.requests()[0].body, request.partition(b"\r\n\r\n")[2], "body")
    equal(transfers(router), (0, 0, 0, 0), "transfers")


@cases({
    "n": (ask(n=2),), "prompts": (ask(COMPLETIONS, prompt=["a", "b"], stream=False),),
    "embeddings": (wire.request("/v1/embeddings", {"model": "m", "input": "a"}),),
    "long": (ask(messages=[{"role": "user", "content": "x" * (3 << 19)}]),)})
def what_cannot_be_split_stays_whole(world, request):
    prefill, decode = world.upstream([handing()]), world.upstream([WHOLE])
    router = split(world, [prefill], [decode])
    reply = reply_to(router, request)
    equal((reply.status, reply.header("x-evenkeel-prefill-worker")), (200, "none"), "status, prefill worker")
    equal((len(prefill.requests()), decode.requests()[0].body), (0, request.partition(b"\r\n\r\n")[2]), "legs")


@cases({"500": (json_answer({"error": {"message": "kv", "code": 500}}, "500 Internal Server Error"),),
        "reset": (RESET,), "error_event": (in_chunks(b'data: {"error":{"message":"kv","code":500}}\n\n'),)})
def a_decode_worker_that_fails_is_followed_by_a_prefill_of_its_own(world, step):
    prefill = world.upstream([handing('{"of":1}')], [handing('{"of":2}')])
    failures = [step]

    def fail_once(exchange):
        what = failures.pop() if failures else STREAM[0]
        what(exchange) if callable(what) else exchange.send(what)

    decode = [world.upstream([fail_once]) for _ in range(2)]
    router = split(world, [prefill], decode, flags=RETRIES)
    reply = reply_to(router, ask(CHAT, "X-Request-Id: abc"))
    equal((reply.status, reply.complete, reply.header("x-evenkeel-attempt")), (200, True, "2"), "status")
    equal([request.header("x-request-id") for request in prefill.requests()], ["abc", "abc-2"], "ids at prefill")
    went = sorted((request.header("x-request-id"), json.loads(request.body)["kv_transfer_params"]["of"])
                  for worker in decode for request in worker.requests())
    equal(went, [("abc", 1), ("abc-2", 2)], "ids and parameters at decode")
    equal([len(worker.requests()) for worker in decode], [1, 1], "one each")
    equal(transfers(router), (2, 2, 0, 1), "transfers")


@case
def a_kept_connection_that_dies_is_no_reason_to_use_parameters_twice(world):
    prefill = world.upstream(*([handing(f'{{"of":{number}}}')] for number in range(4)))
    decode = world.upstream(STREAM, [RESET], STREAM)
    router = split(world, [prefill], [decode], flags=(*RETRIES, "--threads", "1"))  # connections are a thread's own
    for _ in range(2):
        equal(reply_to(router, ask()).status, 200, "status")
    equal([json.loads(request.body)["kv_transfer_params"]["of"] for request in decode.requests()], [0, 1, 2], "params")


@cases({"refused": (json_answer({"error": {"message": "too long"}}, "400 Bad Request"), 400, "client_fault"),
        "failed": (json_answer({"error": {"message": "bug"}}, "500 Internal Server Error"), 500, "worker_fault"),
        "reset": (RESET, 502, "transport_fault")})
def a_failed_prefill_means_that_no_decode_worker_hears_of_it(world, step, status, outcome):
    prefill, decode = world.upstream([step]), world.upstream(STREAM)
    log = world.folder / "access.jsonl"
    router = split(world, [prefill], [decode], flags=(*RETRIES, "--access-log", log))
    reply = reply_to(router, ask())
    equal((reply.status, reply.header("x-evenkeel-prefill-worker")), (status, name_of(prefill)), "answer")
    if step is RESET:
        assert "Prefill worker" in reply.json()["error"]["message"], reply.body
    line = until(lambda: log.read_text().endswith("\n") and json.loads(log.read_text()), "the log's line")
    equal((line["outcome"], line["prefill_worker"], line.get("worker")), (outcome, name_of(prefill), None), "log")
    assert "prefill_ms" in line, line
    equal(len(decode.requests()), 0, "requests at decode")


@case
def a_failed_prefill_goes_to_another_prefill_worker(world):
    prefill = [world.upstream([RESET], [handing()]) for _ in range(2)]
    decode = world.upstream(STREAM)
    router = split(world, prefill, [decode], flags=RETRIES)
    reply = reply_to(router, ask())
    equal((reply.status, reply.header("x-evenkeel-attempt")), (502, "2"), "both fail once")
    equal(reply_to(router, ask()).status, 200, "and then do not")
    equal((len(decode.requests()), transfers(router)), (1, (1, 1, 0, 0)), "decode")


@case
def a_client_that_goes_during_the_prefill_ends_it(world):
    prefill, decode = world.upstream([UNTIL_PEER_CLOSES]), world.upstream(STREAM)
    router = split(world, [prefill], [decode])
    client = Client(router.port, ask())
    assert prefill.waiting_for_close.wait(wire.PATIENCE_S)
    client.close()
    assert prefill.saw_close.wait(wire.PATIENCE_S), "the prefill goes on"
    until(lambda: metric(router, 'evenkeel_requests_total{outcome="cancelled"}') == 1, "cancelled")
    equal((len(decode.requests()), transfers(router)), (0, (0, 0, 0, 0)), "decode")


def one_slot(world, prefill, settings=""):
    """A decode worker whose only slot is taken until `go` is set, and a request that waits for it between its legs."""
    go = threading.Event()
    decode = world.upstream([WAIT(go), *STREAM], STREAM)
    router = split(world, [prefill], [decode], settings=f"max_in_flight = 1\n{settings}")
    first = Client(router.port, ask(CHAT, "X-Request-Id: first"))
    until(lambda: len(decode.requests()) == 1, "the first is at the decode worker")
    second = Client(router.port, ask(CHAT, "X-Request-Id: second"))
    until(lambda: len(prefill.requests()) == 2 and json.loads(router.admin("/pool"))["waiting"] == 1,
          "the second waits for a decode slot")
    return go, decode, router, first, second


@case
def a_client_that_goes_between_the_legs_costs_the_decode_worker_nothing(world):
    go, decode, router, first, second = one_slot(world, world.upstream([handing()]))
    second.close()
    until(lambda: metric(router, 'evenkeel_requests_total{outcome="cancelled"}') == 1, "cancelled")
    go.set()
    equal(first.reply().status, 200, "the first")
    equal((len(decode.requests()), transfers(router)), (1, (2, 1, 0, 0)), "decode")


@case
def who_waits_for_too_long_is_prefilled_again_in_its_place(world):
    prefill = world.upstream(*([handing(f'{{"of":{number}}}')] for number in range(3)))
    go, decode, router, first, second = one_slot(world, prefill, 'transfer_lease = "1s"')
    until(lambda: json.loads(router.admin("/pool"))["oldest_ms"] > 900, "the lease may be over")
    go.set()
    for client in (first, second):
        equal(client.reply().status, 200, "status")
    ids = [request.header("x-request-id") for request in prefill.requests()]
    equal(ids, ["first", "second", "second-2"], "prefills")
    equal([json.loads(request.body)["kv_transfer_params"]["of"] for request in decode.requests()], [0, 2], "used")
    equal(transfers(router), (3, 2, 1, 0), "transfers")


@cases({"prefill": ("no_prefill_worker", 0), "decode": ("no_decode_worker", 1)})
def a_stage_without_worker_is_named(world, reason, dead):
    prefill, decode = world.upstream([handing()]), world.upstream(STREAM)
    router = split(world, [prefill], [decode], settings="[pool]\nunroutable_wait = \"10ms\"")
    lost = (prefill, decode)[dead]
    lost.probes["/health"] = [json_answer(b"{}", "503 Service Unavailable")]
    until(lambda: not router.answers("/ready"), "not ready without it")
    reply = reply_to(router, ask())
    equal((reply.status, reply.header("x-evenkeel-refusal")), (503, reason), "refusal")
    equal(reply.json()["error"]["code"], reason, "code")
    equal(metric(router, f'evenkeel_refusals_total{{reason="{reason}"}}'), 1, "metric")


@case
def roles_come_and_go_by_the_admin_api(world):
    def admin(method, path, document=None):
        data = None if document is None else json.dumps(document).encode()
        call = urllib.request.Request(f"http://127.0.0.1:{router.admin_port}{path}", data, method=method)
        with urllib.request.urlopen(call, timeout=10) as answer:
            return json.loads(answer.read())

    prefill, decode = world.upstream([handing()]), world.upstream(STREAM)
    router = split(world, [], [decode])
    equal(reply_to(router, ask()).header("x-evenkeel-prefill-worker"), None, "whole while there is no prefill worker")
    admin("POST", "/workers", {"url": prefill.url, "role": "prefill", "engine": "vllm"})
    until(lambda: all(worker["state"] == "routable" for worker in router.workers()), "routable")
    equal({worker["name"]: worker["role"] for worker in router.workers()},
          {name_of(prefill): "prefill", name_of(decode): "decode"}, "roles")
    equal(reply_to(router, ask()).header("x-evenkeel-prefill-worker"), name_of(prefill), "prefill worker")
    admin("DELETE", f"/workers/{name_of(prefill)}")
    until(lambda: len(router.workers()) == 1, "removed")
    equal(reply_to(router, ask()).header("x-evenkeel-prefill-worker"), None, "whole again")
    equal(len(prefill.requests()), 1, "requests at prefill")


@case
def an_engine_of_another_kind_gets_no_role(world):
    page = b'llamacpp:requests_processing 0\nllamacpp:requests_deferred 0\n'
    engine = world.upstream([handing()], probes={"/metrics": [json_answer(page)]})
    path = world.folder / "role.toml"
    path.write_text(f'[[workers]]\nurl = "{engine.url}"\nrole = "prefill"\n')
    router = world.router(flags=("--config", path, "--health-interval", "50ms"), ready=False)
    until(lambda: "SGLang only, and this is llama.cpp" in router.workers()[0]["last_error"], "said in the API")
    equal(router.workers()[0]["state"], "unroutable", "state")
    equal(router.log().count("SGLang only"), 1, "said in the log, once")


@case
def ranks_on_either_side(world):
    prefill = Emulator(world, "m", "--role", "prefill", "--ranks", "2")
    decode = Emulator(world, "m", "--role", "decode", "--ranks", "3")
    router = split(world, [prefill], [decode])
    equal({(worker["name"].removeprefix("127.0.0.1:").partition("@")[2], worker["role"], worker["group"] is None)
           for worker in router.workers() if worker["rank"] is not None},
          {*((str(rank), "prefill", True) for rank in range(2)), *((str(rank), "decode", False) for rank in range(3))},
          "workers")
    replies = [reply_to(router, ask(CHAT, "X-Emulate-Output-Tokens: 5")) for _ in range(40)]
    equal({reply.header("x-evenkeel-policy") for reply in replies}, {"balance"}, "policy of the decode ranks")
    for engine, field in ((prefill, "x-evenkeel-prefill-worker"), (decode, "x-evenkeel-worker")):
        there = {f"{name_of(engine)}@{rank['rank']}": rank["received"] for rank in state(engine)["ranks"]}
        equal(collections.Counter(reply.header(field) for reply in replies), there, field)
        assert min(there.values()) > 0, there


def state(engine):
    with urllib.request.urlopen(engine.url + "/emulator/state", timeout=10) as answer:
        return json.loads(answer.read())


def faults(engine, document):
    call = urllib.request.Request(engine.url + "/emulator/faults", json.dumps(document).encode(), method="POST")
    urllib.request.urlopen(call, timeout=10).read()


def ask_many(router, count, at_once=48):
    """Requests of all sorts from many clients, of which one in ten leaves early. Returns what became of each, by id."""
    became, lock, left = {}, threading.Lock(), iter(range(count))

    def work(seed):
        draw = random.Random(seed)
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                return
            request = ask(draw.choice([CHAT, COMPLETIONS]), f"X-Request-Id: r{number}",
                          f"X-Emulate-Output-Tokens: {draw.randint(1, 60)}", stream=draw.random() < 0.6, max_tokens=100,
                          **({"n": 2} if draw.random() < 0.02 else {}))
            with Client(router.port, request) as client:
                if draw.random() < 0.1:
                    time.sleep(draw.uniform(0, 0.03))
                    became[f"r{number}"] = "left"
                    continue
                reply = client.reply()
            became[f"r{number}"] = "whole" if reply.status == 200 and reply.complete else "failed"
            assert b"drift" not in reply.body, "another prompt's KV"

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(len(became), count, "requests")
    return became


@cases({"failures_in_vllm": ("vllm",), "failures_in_sglang": ("sglang",)})
def failures_on_either_leg_leave_one_outcome_each_and_nothing_behind(world, kind):
    lease = ("--kv-lease-s", "30", "--bootstrap-timeout-s", "30", "--time-scale", "20")  # a second and a half
    prefill = [Emulator(world, "m", "--role", "prefill", *lease) for _ in range(2)]
    decode = [Emulator(world, "m", "--role", "decode", *lease) for _ in range(4)]
    log = world.folder / "access.jsonl"
    router = split(world, prefill, decode, flags=("--retry-budget", "1", "--retry-attempts", "4", "--access-log", log),
                   settings='transfer_lease = "1500ms"\nmax_in_flight = 4', kind=kind)
    faults(prefill[0], {"drop_probability": 0.03, "seed": 1})
    faults(prefill[1], {"status": 503, "status_probability": 0.03, "seed": 2})
    faults(decode[0], {"status": 500, "status_probability": 0.03, "seed": 3})
    faults(decode[1], {"drop_probability": 0.03, "seed": 4})
    done = threading.Event()

    def trouble():
        """Streams that break off, and prefill engines that do not give what they said."""
        while not done.wait(0.1):
            faults(decode[2], {"die_after_tokens": 10})
            faults(prefill[1], {"refuse": True})
            done.wait(0.03)
            faults(decode[2], {"die_after_tokens": None})
            faults(prefill[1], {"refuse": False})

    troubling = threading.Thread(target=trouble)
    troubling.start()
    began = time.monotonic()
    became = ask_many(router, world.options.requests)
    took = time.monotonic() - began
    done.set()
    troubling.join()
    until(router.books_are_zero, "books back to zero")
    until(lambda: len(log.read_text().splitlines()) >= len(became), "a line for each request")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    equal(len(lines), len(became), "lines in the log")
    outcomes = {line["id"]: line["outcome"] for line in lines}
    equal(set(outcomes), set(became), "one line each")
    for request, what in became.items():
        if what == "whole":
            equal(outcomes[request], "completed", f"outcome of {request}")
        elif what == "failed":
            assert outcomes[request] not in ("completed", "cancelled"), (request, outcomes[request])
    begun, used, expired, repeated = transfers(router)
    assert begun >= used + expired and repeated > 0, transfers(router)
    for engine in prefill + decode:  # once the leases of those that were given up are over
        until(lambda: state(engine)["used_blocks"] == 0 and state(engine)["running"] == 0, "no block held")
        kv = state(engine)["kv_transfer"]
        kept = {key: kv[key] for key in ("leases_open", "kept_blocks", "reused", "garbled", "room_clashes")}
        equal(set(kept.values()), {0}, f"leases, blocks, reuse: {kept}")
        until(lambda: state(engine)["kv_transfer"]["rooms_open"] == 0, "no room open")
    given = sum(state(engine)["kv_transfer"]["leases_opened"] for engine in prefill)
    ended = sum(state(engine)["kv_transfer"][how] for engine in prefill for how in ("pulled", "declined", "expired"))
    equal(ended, given, "each lease ended in one way")
    print(f"     {len(became)} requests in {took:.1f} s: {dict(collections.Counter(outcomes.values()))}; transfers "
          f"{begun:.0f}, used {used:.0f}, expired {expired:.0f}, repeated {repeated:.0f}; leases {given}; legs ended "
          f"because of the other {metric(router, 'evenkeel_legs_cancelled_total'):.0f}; rooms that came to their end "
          f"{sum(state(engine)['kv_transfer']['rooms_whole'] for engine in decode)} of "
          f"{sum(state(engine)['kv_transfer'][how] for engine in decode for how in ('rooms_whole', 'rooms_failed'))}")


# --- SGLang: both legs at once ---------------------------------------------------------------------------------------

ONE_TOKEN = json_answer({"id": "p", "choices": [{"text": "t"}], "usage": {"prompt_tokens": 41, "completion_tokens": 1}})


def meeting_of(request):
    body = json.loads(request.body)
    return body["bootstrap_host"], body["bootstrap_port"], body["bootstrap_room"]


def met(engine, count):
    """So many requests, of which the other leg may have been answered sooner."""
    until(lambda: len(engine.requests()) >= count, f"{count} requests")
    return engine.requests()


@cases({"meet_stream": (True,), "meet_whole": (False,)})
def both_legs_carry_the_same_meeting(world, stream):
    prefill, decode = world.upstream(STREAM if stream else [ONE_TOKEN]), world.upstream(STREAM if stream else [WHOLE])
    router = split(world, [prefill], [decode], kind="sglang")
    evil = b', "bootstrap_room":7,"bootstrap_host":"evil"'
    body = b'{"model" : "m","stream":%s,"messages":[{"role":"user","content":"h\u00e4}"}]%s, "x":1.0 }\n' % (
        b"true" if stream else b"false", evil)
    rooms = set()
    for number in range(20):
        reply = reply_to(router, wire.request(CHAT, body, f"X-Request-Id: r{number}"))
        equal((reply.status, reply.complete), (200, True), "status")
        equal(reply.header("x-evenkeel-prefill-worker"), name_of(prefill), "prefill worker")
        equal(reply.header("x-evenkeel-worker"), name_of(decode), "worker")
        first, second = met(prefill, number + 1)[-1], met(decode, number + 1)[-1]
        equal(first.body, second.body, "bodies")
        equal((first.header("x-request-id"), second.header("x-request-id")), (f"r{number}",) * 2, "ids")
        host, port, room = meeting_of(first)
        equal((host, port), ("127.0.0.1", port_of(prefill)), "where they meet")
        assert 0 <= room < 2 ** 63, room
        rooms.add(room)
        kept = json.loads(first.body)
        for key in ("bootstrap_host", "bootstrap_port", "bootstrap_room"):
            del kept[key]
        equal(kept, json.loads(body.replace(evil, b"")), "the rest of the body")
    equal(len(rooms), 20, "rooms")
    assert max(rooms) > 2 ** 55, "rooms are drawn from all that there are"
    equal(transfers(router), (20, 20, 0, 0), "transfers")


@case
def a_list_of_prompts_has_a_room_each(world):
    prefill, decode = world.upstream([ONE_TOKEN]), world.upstream([WHOLE])
    router = split(world, [prefill], [decode], kind="sglang")
    equal(reply_to(router, ask(COMPLETIONS, prompt=["a", "b", "c"], stream=False)).status, 200, "status")
    equal(met(prefill, 1)[0].body, met(decode, 1)[0].body, "bodies")
    hosts, ports, rooms = meeting_of(prefill.requests()[0])
    equal((hosts, ports, len(set(rooms))), (["127.0.0.1"] * 3, [port_of(prefill)] * 3, 3), "meetings")


@cases({"meet_n": (ask(n=2),), "meet_n_of_lists": (ask(COMPLETIONS, prompt=["a", "b"], n=3),),
        "meet_long": (ask(messages=[{"role": "user", "content": "x" * (3 << 19)}]),)})
def what_cannot_meet_is_refused_with_the_reason(world, request):
    prefill, decode = world.upstream([ONE_TOKEN]), world.upstream([WHOLE])
    router = split(world, [prefill], [decode], kind="sglang")
    reply = reply_to(router, request)
    equal((reply.status, reply.json()["error"]["code"]), (400, "cannot_be_split"), "answer")
    equal((len(prefill.requests()), len(decode.requests())), (0, 0), "requests")


FAILED = {"400": json_answer({"error": {"message": "too long"}}, "400 Bad Request"),
          "500": json_answer({"error": {"message": "bug"}}, "500 Internal Server Error"), "reset": RESET,
          "event": in_chunks(b'data: {"error":{"message":"kv","code":500}}\n\n'),
          "half": in_chunks(b'data: {"choices":[{"delta":{"content":"t"}}]}\n\n')}


@cases({f"meet_{way}_{leg}": (way, leg) for way in FAILED for leg in ("prefill", "decode")
        if (way, leg) != ("half", "decode")})
def a_leg_that_fails_ends_the_other(world, way, leg):
    step, met = FAILED[way], threading.Event()
    fails, waits = [WAIT(met), step], [UNTIL_PEER_CLOSES]
    prefill, decode = world.upstream(fails if leg == "prefill" else waits), world.upstream(waits if leg == "prefill" else fails)
    log = world.folder / "access.jsonl"
    router = split(world, [prefill], [decode], flags=("--retry-attempts", "1", "--access-log", log), kind="sglang")
    client = Client(router.port, ask())
    other = decode if leg == "prefill" else prefill
    assert other.waiting_for_close.wait(wire.PATIENCE_S)
    met.set()
    reply = client.reply()
    assert other.saw_close.wait(wire.PATIENCE_S), "the other leg goes on"
    equal(reply.status, {"400": 400, "reset": 502, "half": 502}.get(way, 500), f"status: {reply.body}")
    if way == "reset":
        assert reply.json()["error"]["message"].startswith("Prefill worker" if leg == "prefill" else "Worker"), reply.body
    line = until(lambda: log.read_text().endswith("\n") and json.loads(log.read_text()), "the log's line")
    equal(line["outcome"], {"400": "client_fault", "reset": "transport_fault"}.get(way, "worker_fault"), "outcome")
    equal(line["prefill_worker"], name_of(prefill), "prefill worker in the log")
    blamed = {worker["name"]: worker["breaker"]["faults"] for worker in router.workers()}
    equal(blamed[name_of(other)], 0, "faults of the leg that was ended")
    equal(metric(router, "evenkeel_legs_cancelled_total"), 1, "legs ended")


@cases({"meet_again_prefill": ("prefill",), "meet_again_decode": ("decode",)})
def a_failure_is_followed_by_another_meeting_in_another_room(world, leg):
    failures = [RESET]

    def fail_once(good):
        def step(exchange):
            what = failures.pop() if failures else good
            what(exchange) if callable(what) else exchange.send(what)
        return step

    def engines(this, good):
        return [world.upstream([fail_once(good) if this == leg else good]) for _ in range(2)]

    prefill, decode = engines("prefill", ONE_TOKEN), engines("decode", WHOLE)
    if leg == "decode":  # a prefill that never meets anybody
        for engine in prefill:
            engine.scripts[:] = [[lambda exchange: exchange.until_peer_closes() if failures else exchange.send(ONE_TOKEN)]]
    else:
        for engine in decode:
            engine.scripts[:] = [[lambda exchange: exchange.until_peer_closes() if failures else exchange.send(WHOLE)]]
    router = split(world, prefill, decode, flags=RETRIES, kind="sglang")
    reply = reply_to(router, ask(CHAT, "X-Request-Id: abc", stream=False))
    equal((reply.status, reply.header("x-evenkeel-attempt")), (200, "2"), "status")
    met = collections.defaultdict(set)
    for engine in prefill + decode:
        for request in engine.requests():
            met[request.header("x-request-id")].add(meeting_of(request)[2])
    equal(sorted((name, len(rooms)) for name, rooms in met.items()), [("abc", 1), ("abc-2", 1)], "rooms by id")
    equal(len(set.union(*met.values())), 2, "rooms")


@case
def a_client_that_goes_ends_both_legs(world):
    prefill, decode = world.upstream([UNTIL_PEER_CLOSES]), world.upstream([UNTIL_PEER_CLOSES])
    router = split(world, [prefill], [decode], kind="sglang")
    client = Client(router.port, ask())
    for engine in (prefill, decode):
        assert engine.waiting_for_close.wait(wire.PATIENCE_S)
    client.close()
    for engine in (prefill, decode):
        assert engine.saw_close.wait(wire.PATIENCE_S), "a leg goes on"
    until(lambda: metric(router, 'evenkeel_requests_total{outcome="cancelled"}') == 1, "cancelled")
    equal(transfers(router), (0, 0, 0, 0), "transfers")


@case
def a_stream_that_has_begun_does_not_end_with_the_prefill_that_made_it(world):
    begun = threading.Event()
    go = threading.Event()

    def decode_script(exchange):
        exchange.send(STREAM[0][:-len(b"0\r\n\r\n")])
        begun.set()
        go.wait(wire.PATIENCE_S)
        exchange.send(b"0\r\n\r\n")

    prefill, decode = world.upstream([WAIT(begun), RESET]), world.upstream([decode_script])
    router = split(world, [prefill], [decode], flags=RETRIES, kind="sglang")
    client = Client(router.port, ask())
    until(lambda: {w["name"]: w["breaker"]["faults"] for w in router.workers()}.get(name_of(prefill)) is not None, "workers")
    begun.wait(wire.PATIENCE_S)
    go.set()
    reply = client.reply()
    equal((reply.status, reply.complete), (200, True), "the stream")
    equal(metric(router, "evenkeel_legs_cancelled_total"), 0, "legs ended")


@cases({"meet_no_prefill": ("no_prefill_worker", ("decode",)), "meet_no_decode": ("no_decode_worker", ("prefill",))})
def who_has_nobody_to_meet_is_refused_by_stage(world, reason, roles):
    engines = {role: world.upstream([WHOLE]) for role in roles}
    router = split(world, *([engines[role]] if role in engines else [] for role in ("prefill", "decode")), kind="sglang",
                   settings='[pool]\nunroutable_wait = "10ms"', ready=False)
    until(lambda: all(worker["state"] == "routable" for worker in router.workers()), "routable")
    reply = reply_to(router, ask())
    equal((reply.status, reply.header("x-evenkeel-refusal")), (503, reason), "refusal")
    equal(sum(len(engine.requests()) for engine in engines.values()), 0, "requests")


@case
def one_slot_at_a_prefill_worker_is_waited_for(world):
    go = threading.Event()
    prefill, decode = world.upstream([WAIT(go), ONE_TOKEN], [ONE_TOKEN]), world.upstream([WAIT(go), WHOLE], [WHOLE])
    router = split(world, [prefill], [decode], kind="sglang", settings="max_in_flight = 8")
    call = urllib.request.Request(f"http://127.0.0.1:{router.admin_port}/workers/{name_of(prefill)}",
                                  b'{"max_in_flight":1}', method="PATCH")
    urllib.request.urlopen(call, timeout=10).read()
    clients = [Client(router.port, ask(stream=False)) for _ in range(4)]
    until(lambda: json.loads(router.admin("/pool"))["waiting"] == 3, "three wait for the prefill worker")
    equal(len(met(decode, 1)), 1, "nothing goes to a decode worker alone")
    clients.pop().close()
    go.set()
    answers = [client.reply().status for client in clients if client is not None]
    assert answers.count(200) >= 2, answers


@cases({"found": ('{"disaggregation_mode":"prefill","disaggregation_bootstrap_port":7123}', 7123),
        "not_told": ("{}", 8998)})
def where_they_meet_is_found_out(world, page, port):
    prefill = world.upstream([ONE_TOKEN], probes={"/server_info": [json_answer(page.encode())]})
    decode = world.upstream([WHOLE])
    path = world.folder / "found.toml"
    path.write_text("".join(f'[[workers]]\nurl = "{engine.url}"\nrole = "{role}"\nengine = "sglang"\n'
                            for engine, role in ((prefill, "prefill"), (decode, "decode"))))
    router = world.router(flags=("--config", path, "--health-interval", "50ms"))
    equal(reply_to(router, ask(stream=False)).status, 200, "status")
    equal(meeting_of(decode.requests()[0])[1], port, "port")
    equal({worker["role"]: worker["bootstrap_port"] for worker in router.workers()}, {"prefill": port, "decode": None}, "told")


@case
def an_engine_that_plays_another_part_is_not_sent_anything(world):
    page = b'{"disaggregation_mode":"null","disaggregation_bootstrap_port":8998}'
    engine = world.upstream([ONE_TOKEN], probes={"/server_info": [json_answer(page)]})
    path = world.folder / "part.toml"
    path.write_text(f'[[workers]]\nurl = "{engine.url}"\nrole = "prefill"\nengine = "sglang"\n')
    router = world.router(flags=("--config", path, "--health-interval", "50ms"), ready=False)
    until(lambda: "--disaggregation-mode is null" in router.workers()[0]["last_error"], "said")
    equal(router.workers()[0]["state"], "unroutable", "state")


@case
def a_worker_that_meets_nobody_does_not_serve_a_model_whose_workers_meet(world):
    engines = [world.upstream([ONE_TOKEN]), world.upstream([WHOLE]), world.upstream([WHOLE]), world.upstream([WHOLE])]
    path = world.folder / "mixed.toml"
    path.write_text("".join(
        f'[[workers]]\nurl = "{engine.url}"\nrole = "{role}"\nengine = "{kind}"\n' + (
            "bootstrap_port = 7001\n" if role == "prefill" and kind == "sglang" else "")
        for engine, role, kind in zip(engines, ("prefill", "decode", "both", "decode"),
                                      ("sglang", "sglang", "sglang", "vllm"))))
    router = world.router(flags=("--config", path, "--health-interval", "50ms"), ready=False)
    until(lambda: [worker["state"] for worker in router.workers()] == ["routable"] * 2 + ["unroutable"] * 2 and
          all(worker["last_error"] for worker in router.workers()[2:]), "the others are kept out")
    for worker in router.workers()[2:]:
        assert "has no other workers" in worker["last_error"], worker
    equal([reply_to(router, ask(stream=False)).status for _ in range(5)], [200] * 5, "status")
    equal([len(met(engine, count)) for engine, count in zip(engines, (5, 5, 0, 0))], [5, 5, 0, 0], "requests")


@case
def rooms_are_those_of_the_rank(world):
    prefill, decode = world.upstream([ONE_TOKEN]), world.upstream([WHOLE])
    router = split(world, [prefill], [decode], kind="sglang", workers="ranks = 3")
    equal(len(router.workers()), 6, "workers")
    for request in (ask(stream=False), ask(COMPLETIONS, prompt=["a", "b"], stream=False)) * 12:
        equal(reply_to(router, request).status, 200, "status")
    met(prefill, 24)
    ranks = collections.Counter()
    for request in prefill.requests():
        rank = int(request.header("x-data-parallel-rank"))
        ranks[rank] += 1
        room = meeting_of(request)[2]
        equal({each % 3 for each in (room if isinstance(room, list) else [room])}, {rank}, "room mod ranks")
    equal(set(ranks), {0, 1, 2}, "prefill ranks")
    equal({request.header("x-data-parallel-rank") for request in decode.requests()}, {"0", "1", "2"}, "decode ranks")


if __name__ == "__main__":
    kit.main()
