#!/usr/bin/env python3
"""What routers know of each other: they find each other, compare what they serve, believe no nonsense, and tell when a
slot is free. Real routers in front of emulated engines, and scripted routers where bytes matter."""
import json
import urllib.error
import urllib.request

from support import kit, wire
from support.kit import case, cases, equal, until
from support.router import Emulator, Router, free_ports
from support.streams import CHAT, ask
from support.upstream import UNTIL_PEER_CLOSES, json_answer
from support.wire import Client

WINDOW = 32768
FLAGS = ("--quantization", "none", "--max-in-flight", "2", "--health-interval", "100ms", "--peer-probe-interval",
         "100ms", "--seed", "1")
PRINT = {"served_id": "m", "max_model_len": WINDOW, "runtime": "vllm", "quantization": "none",
         "kv_cache_dtype": "fp8", "reasoning_parser": "unknown", "tool_parser": "unknown", "speculative_config": None}


def get(url, *fields):
    request = urllib.request.Request(url, headers=dict(fields))
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def post(url, document, *fields):
    """The status of the answer."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, dict(fields)), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def engine(world, scale=20):
    return Emulator(world, "m", "--max-model-len", WINDOW, "--slots", "2", "--time-scale", scale)


def peers(router):
    return json.loads(router.admin("/peers"))


def row(router, peer=0, model="m"):
    """What the router has of one model of a peer, None if it is not shared."""
    return next((one for one in peers(router)[peer]["models"] if one["model"] == model), None)


def usable(router, peer=0, model="m"):
    found = row(router, peer, model)
    return found if found and found["usable"] else None


def why_not(router, reason, peer=0):
    found = row(router, peer)
    return found and found["why_not"] and reason in found["why_not"]


def lobes_status(capacity="2", health="ok", served="m", running=0, waiting=0):
    """`capacity` as it stands in the JSON; None: there is none."""
    said = "" if capacity is None else f',"capacity":{capacity}'
    body = (f'{{"object":"lobes.fleet_status","default_model":"{served}","busy":{{"running":{running},"waiting":'
            f'{waiting}}},"backends":[{{"name":"primary","task":"generate","served_name":"{served}","health":"{health}",'
            f'"metrics":{{"running":{running},"waiting":{waiting}}}{said}}}],"endpoints":[]}}')
    return [json_answer(body.encode())]


def lobes_capabilities(**changed):
    print_ = {**PRINT, **changed}
    return [json_answer({"object": "lobes.capabilities", "roles": {"cortex": {
        "role": "cortex", "model": print_["served_id"], "context": print_["max_model_len"], "fingerprint": print_}}})]


def lobes(world, capacity="2"):
    """A scripted gateway of the lobes kind; change its `probes` and it says something else."""
    return world.upstream([json_answer({})], probes={"/status": lobes_status(capacity),
                                                      "/capabilities": lobes_capabilities()})


def box(world, *others, flags=(), own=True, scale=20):
    """A router with an engine of its own, and these peers."""
    there = ([engine(world, scale)] if own else [])
    router = world.router(*there, flags=(*FLAGS, "--peer-urls", *(other.url for other in others), *flags), ready=False)
    if own:
        until(lambda: any(w["state"] == "routable" and w["engine"] == "vllm" for w in router.workers()), "its engine")
    return router


def pair(world, *flags):
    ports = [free_ports(2) for _ in range(2)]
    made = []
    for at, name in enumerate(("thor", "spark")):
        own = engine(world)
        router = Router(world.binary, [own.url], (*FLAGS, "--self-name", name, "--peer-urls",
                                                  f"http://127.0.0.1:{ports[1 - at][0]}", *flags),
                        world.folder, tuple(ports[at]))
        world.routers.append(router)
        made.append(router)
    for router in made:
        until(lambda router=router: router.answers("/ready"), "the router answers")
        until(lambda router=router: usable(router), "the peer is usable")
    return made


@case
def two_boxes_find_each_other_usable(world):
    thor, spark = pair(world)
    peer = peers(thor)[0]
    equal((peer["kind"], peer["up"], peer["calls_itself"], peer["last_error"]), ("evenkeel", True, "spark", None), "peer")
    model = peer["models"][0]
    equal((model["slots"], model["max_in_flight"], model["foreign"], model["capacity"]), (2, 2, 0, "2"), "share")
    table = thor.admin("/peers?format=table").decode()
    assert table.splitlines()[0].split() == ["peer", "kind", "model", "usable", "slots", "open", "foreign", "taken", "on",
                                             "sent", "sent", "back", "note"], table
    name = peer["name"]
    metrics = thor.admin("/metrics").decode()
    for line in (f'evenkeel_peer_up{{peer="{name}"}} 1', f'evenkeel_peer_slots{{peer="{name}",model="m"}} 2',
                 f'evenkeel_peer_usable{{peer="{name}",model="m"}} 1'):
        assert line in metrics, line
    equal(post(f"http://127.0.0.1:{thor.admin_port}/peers", {}), 404, "peers are not added there")


@case
def a_peer_does_not_become_a_worker(world):
    thor, _ = pair(world)
    peer = peers(thor)[0]["name"]
    for document in ({"url": f"http://{peer}"}, {"url": f"http://{peer}", "name": "other"},
                     {"url": engine(world).url, "name": peer}):
        equal(post(f"http://127.0.0.1:{thor.admin_port}/workers", document), 409, f"status of {document}")
    until(lambda: usable(thor), "the peer is usable still")


@case
def the_pages_have_the_shape_of_the_reference(world):
    thor, _ = pair(world)
    status = get(thor.url + "/status")
    equal(status["object"], "lobes.fleet_status", "object")
    equal((status["default_model"], status["busy"]), ("m", {"running": 0, "waiting": 0}), "default model, load")
    backend = status["backends"][0]
    equal({key: backend[key] for key in ("name", "task", "served_name", "health", "capacity")},
          {"name": "m", "task": "generate", "served_name": "m", "health": "ok", "capacity": 2}, "backend")
    equal({"running", "waiting", "prompt_tokens", "generation_tokens"} <= set(backend["metrics"]), True, "metrics")
    equal("news" in status["evenkeel"]["models"][0], False, "news are for peers")
    asked = get(thor.url + "/status", ("X-Evenkeel-Hop", "spark"))
    equal(asked["evenkeel"]["models"][0]["news"]["yours"], 0, "news for a peer that says who it is")
    role = get(thor.url + "/capabilities")["roles"]["m"]
    equal([(one["local"], one["ready"], one["compatible"], one["weight"], one["capacity"], one["calibrated"])
           for one in role["replicas"]], [(True, True, True, 2, 2, True), (False, True, True, 2, 2, True)], "replicas")
    equal(role["fingerprint"], role["replicas"][1]["fingerprint"], "the same there")
    equal(role["fingerprint"]["tool_parser"], "unknown", "what nobody said")


@case
def a_capacity_nobody_said_is_not_made_up(world):
    other = lobes(world, capacity=None)
    router = world.router(engine(world), flags=(*FLAGS[:2], *FLAGS[4:], "--peer-urls", other.url))
    equal(until(lambda: usable(router), "usable all the same")["slots"], 1, "slots of who says none")
    equal("capacity" in get(router.url + "/status")["backends"][0], False, "capacity")
    here, there = get(router.url + "/capabilities")["roles"]["m"]["replicas"]
    equal((here["capacity"], here["calibrated"], there["capacity"], there["calibrated"]), (None, False, None, False),
          "replicas")


@cases({"10000": ("10000", 64, "cut to 64"), "zero": ("0", 1, "refused"), "negative": ("-1", 1, "refused"),
        "nan": ("NaN", 1, "refused"), "text": ('"many"', 1, "refused"), "infinity": ("Infinity", 1, "refused"),
        "fraction": ("2.7", 2, None), "one": ("1.0", 1, None)})
def r7_capacities_that_cannot_be_are_cut_or_refused(world, told, slots, note):
    router = box(world, lobes(world, told), flags=("--peer-capacity-clamp", "64"))
    found = until(lambda: usable(router), "usable")
    equal((found["slots"], found["max_in_flight"]), (slots, slots), "slots")
    equal(found["capacity_note"] if note is None else note in found["capacity_note"], None if note is None else True,
          f"note {found['capacity_note']}")
    replica = get(router.url + "/capabilities")["roles"]["m"]["replicas"][1]
    equal((replica["weight"], replica["reason"]), (slots, found["capacity_note"] or ""), "row")


@case
def r8_a_model_that_is_exchanged_is_used_no_more(world):
    other = lobes(world)
    router = box(world, other)
    equal(until(lambda: usable(router), "usable")["slots"], 2, "slots")
    other.probes["/status"] = lobes_status(served="n")
    other.probes["/capabilities"] = lobes_capabilities(served_id="n")
    until(lambda: why_not(router, "served_id differs: m here, n there"), "another model there")
    other.probes.update({"/status": lobes_status(), "/capabilities": lobes_capabilities()})
    found = until(lambda: usable(router), "back")
    equal(found["slots"], 1, "its capacity was measured with another model")
    other.probes["/status"] = lobes_status("3")
    until(lambda: usable(router)["slots"] == 3, "a new number is a new measurement")


@cases({"quantization": ({"quantization": "int4"}, "quantization differs: none here, int4 there"),
        "unknown": ({"quantization": "unknown"}, "quantization is not known there"),
        "window": ({"max_model_len": 4096}, f"max_model_len differs: {WINDOW} here, 4096 there"),
        "runtime": ({"runtime": "llama.cpp"}, "runtime differs: vllm here, llamacpp there")})
def e2_what_must_match_keeps_boxes_apart_by_name(world, changed, reason):
    other = lobes(world)
    other.probes["/capabilities"] = lobes_capabilities(**changed)
    router = box(world, other)
    until(lambda: why_not(router, reason), reason)
    replica = get(router.url + "/capabilities")["roles"]["m"]["replicas"][1]
    equal((replica["compatible"], replica["reason"]), (False, reason), "row")


@cases({"rubbish": ([json_answer(b"hello")], "is no JSON"), "nothing": ([json_answer(b"{}")], "no list"),
        "refused": ([json_answer({}, "401 Unauthorized")], "401, it wants another key"),
        "failed": ([json_answer({}, "500 Internal Server Error")], "answered 500"),
        "cut": ([wire.head("200 OK", "Content-Length: 100") + b"{", lambda exchange: exchange.close()], "/status: "),
        "huge": ([json_answer(b"[" + b"1," * 3_000_000 + b"1]")], "/status: ")})
def bad_answers_make_no_peer(world, script, error):
    other = lobes(world)
    other.probes["/status"] = script
    router = box(world, other)
    until(lambda: error in (peers(router)[0]["last_error"] or ""), error)
    equal((peers(router)[0]["up"], peers(router)[0]["models"]), (False, []), "not used")
    other.probes["/status"] = lobes_status()
    until(lambda: usable(router), "it answers as it should now")


@case
def r12_a_peer_that_hangs_delays_no_other(world):
    hung, well = lobes(world), lobes(world)
    hung.probes["/status"] = [UNTIL_PEER_CLOSES]
    router = box(world, hung, well, flags=("--peer-probe-timeout", "10m"))
    until(lambda: usable(router, 1), "the other is usable")
    well.probes["/status"] = lobes_status("7")
    until(lambda: usable(router, 1)["slots"] == 7, "and goes on being asked")
    equal((peers(router)[0]["up"], peers(router)[0]["probes_lost"]), (False, 0), "the one that hangs is still asked")


@case
def r10_a_lost_probe_removes_nobody_lost_ones_do(world):
    other = lobes(world)
    router = box(world, other)
    until(lambda: usable(router), "usable")
    before = peers(router)[0]["probes_lost"]
    other.probes["/status"] = [json_answer({}, "500 Internal Server Error")]
    until(lambda: peers(router)[0]["probes_lost"] >= before + 2, "two are lost")
    until(lambda: why_not(router, "does not answer"), "out")
    other.probes["/status"] = lobes_status()
    until(lambda: usable(router), "back")


@case
def this_router_itself_is_no_peer(world):
    ports = tuple(free_ports(2))
    url = f"http://127.0.0.1:{ports[0]}"
    router = Router(world.binary, [engine(world).url], (*FLAGS, "--peer-urls", url), world.folder, ports)
    world.routers.append(router)
    until(lambda: router.answers("/ready"), "ready")
    until(lambda: "it is this router itself" in (peers(router)[0]["last_error"] or ""), "seen")
    equal((peers(router)[0]["up"], [one for one in peers(router)[0]["models"] if one["usable"]]), (False, []), "not used")
    assert "it is this router itself: take it off the list of peers" in router.log(), router.log()


@case
def a_model_served_by_peers_alone_is_listed_and_compared_with_the_first(world):
    first, second = lobes(world), lobes(world)
    first.probes["/capabilities"] = lobes_capabilities(quantization="unknown")
    router = box(world, first, second, own=False)
    until(lambda: usable(router), "the first, though not all is known of it")
    until(lambda: why_not(router, "quantization is not known here", 1), "nobody is the same as something not known")
    listed = get(router.url + "/v1/models")["data"]
    equal([(one["id"], one["max_model_len"]) for one in listed], [("m", WINDOW)], "models")
    until(lambda: router.answers("/ready"), "ready")
    role = get(router.url + "/capabilities")["roles"]["m"]
    equal((role["proxied"], role["ready"], role["context"], [one["local"] for one in role["replicas"]]),
          (True, True, WINDOW, [False, False]), "role")
    first.probes["/status"] = [json_answer({}, "500 Internal Server Error")]
    until(lambda: usable(router, 1), "the second, once the first is gone")
    first.probes["/status"] = second.probes["/status"] = lobes_status(served="n")
    until(lambda: [one["id"] for one in get(router.url + "/v1/models")["data"]] == ["n"], "m is listed no more")


@case
def news_count_from_a_peer_only(world):
    # What the news say is of a later start than the peer's own word, so that its probes do not take it back.
    thor, spark = pair(world, "--peer-probe-timeout", "60s")
    told = {"model": "m", "load": "epoch=9999999999999;seq=5;active=2;yours=0;slots=2"}
    news = thor.url + "/peers/news"
    equal(post(news, told), 404, "from nobody")
    equal(post(news, told, ("X-Lobes-Proxied", "primary")), 404, "of another kind")
    equal(row(thor)["foreign"], 0, "foreign")
    equal(post(news, told, ("X-Evenkeel-Hop", "spark")), 204, "from the peer")
    equal((row(thor)["foreign"], row(thor)["max_in_flight"]), (2, 0), "full of others")
    equal(post(news, {**told, "load": told["load"].replace("seq=5;active=2", "seq=4;active=0")},
               ("X-Evenkeel-Hop", "spark")), 204, "overtaken on its way")
    equal(row(thor)["foreign"], 2, "foreign")
    for bad in (b"", b"{}", b"[", {"model": "m"}, {"model": "m", "load": "full"}, {"model": 7, "load": told["load"]},
                {"model": "m", "load": told["load"].replace("active=2;yours=0", "active=1;yours=2")},
                b'{"model":"m","load":"' + b"x" * 20000 + b'"}'):
        equal(post(news, bad, ("X-Evenkeel-Hop", "spark")), 400, f"{bad[:60] if isinstance(bad, bytes) else bad}")
    equal(post(news, {**told, "model": "nobody's"}, ("X-Evenkeel-Hop", "spark")), 204, "of a model not shared")
    equal((row(thor)["foreign"], row(spark)["foreign"]), (2, 0), "nothing else moved")


def own_status(instance, slots=2):
    return [json_answer({"object": "lobes.fleet_status", "backends": [], "evenkeel": {
        "name": "other", "instance": instance, "models": [{
            "model": "m", "backend": "m", "ready": True, "slots": slots, "active": 0, "fingerprint": PRINT,
            "rates": [[1, 49.24], [2, 87.82]], "news": {"epoch": 1, "seq": 1, "active": slots, "yours": 0}}]}})]


@case
def who_was_told_full_is_told_of_the_slot_that_is_free(world):
    other = world.upstream([b"HTTP/1.1 204 No Content\r\n\r\n"], probes={"/status": own_status("x1")})
    router = box(world, other, scale=1)
    until(lambda: usable(router), "usable")
    equal(usable(router)["rates"], [[1, 49.24], [2, 87.82]], "its rates")
    clients = [Client(router.port, ask(CHAT, "X-Emulate-Output-Tokens: 30000", max_tokens=30000, stream=True))
               for _ in range(2)]
    asked = ("X-Evenkeel-Hop", "other")
    until(lambda: get(router.url + "/status", asked)["evenkeel"]["models"][0]["news"]["active"] == 2, "both slots taken")
    equal([exchange.path for exchange in other.requests()], [], "no news yet")
    clients[0].close()
    told = until(lambda: [json.loads(one.body) for one in other.requests() if one.path == "/peers/news"], "news")
    equal(told[0]["model"], "m", "model")
    assert "active=1;yours=0;slots=2" in told[0]["load"], told
    clients[1].close()
    until(router.books_are_zero, "books")


@case
def the_same_router_twice_is_one_peer(world):
    first, second = (world.upstream([json_answer({})], probes={"/status": own_status("x1")}) for _ in range(2))
    router = box(world, first, second)
    until(lambda: "it is the same router as peer" in (peers(router)[1]["last_error"] or ""), "seen")
    until(lambda: usable(router), "the first is used")
    equal([one for one in peers(router)[1]["models"] if one["usable"]], [], "the second is not")


@case
def keys_are_sent_with_probes(world):
    other = lobes(world)
    seen = []
    other.probes["/status"] = [lambda exchange: seen.append((exchange.header("authorization"),
                                                             exchange.header("x-evenkeel-hop"))), *lobes_status()]
    key = world.folder / "key"
    key.write_text("sesame\n")
    config = world.folder / "router.toml"
    config.write_text(f'self_name = "thor"\n[[peers]]\nurl = "{other.url}"\nkind = "lobes"\napi_key_file = "{key}"\n')
    router = world.router(engine(world), flags=(*FLAGS, "--config", config), ready=False)
    until(lambda: seen, "asked")
    equal(seen[0], ("Bearer sesame", "thor"), "what it was asked with")
    equal(b"sesame" in router.admin("/peers") + router.log().encode(), False, "the key is shown nowhere")


if __name__ == "__main__":
    kit.main()
