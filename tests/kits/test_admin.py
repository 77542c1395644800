#!/usr/bin/env python3
"""What the admin API refuses: nothing that is given is passed over, and no engine is counted twice."""
import json
import urllib.error
import urllib.request

from support import kit
from support.kit import cases, equal, until
from support.router import free_port
from support.streams import CHAT_STREAM
from support.streams import in_chunks

TEXTS = ("url", "name", "engine", "group", "role", "calibration", "api_key_file", "api_key_env")


def post(router, body, method="POST", path="/workers"):
    call = urllib.request.Request(f"http://127.0.0.1:{router.admin_port}{path}", body.encode(), method=method)
    try:
        with urllib.request.urlopen(call, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())["error"]["message"]


def router_of(world):
    return world.router(world.upstream([in_chunks(CHAT_STREAM)]))


@cases({"texts": (None,)})
def an_empty_text_is_no_way_to_leave_a_field_out(world, _):
    router = router_of(world)
    for key in TEXTS:
        body = {"url": f"http://127.0.0.1:{free_port()}", key: ""}
        status, message = post(router, json.dumps(body))
        equal(status, 400, f"status with an empty {key}")
        assert f'"{key}" is empty' in message, message
    name = router.workers()[0]["name"]
    status, message = post(router, '{"max_in_flight":5,"state":""}', "PATCH", f"/workers/{name}")
    equal((status, '"state" is empty' in message), (400, True), message)
    equal(len(router.workers()), 1, "workers")


@cases({"plain": ("{}",), "escaped": ('{{"url":"{url}","{key}":{value},"\\u{code:04x}{rest}":{value}}}',)})
def a_field_that_comes_twice_is_refused(world, form):
    router = router_of(world)
    values = {**{key: '"a"' for key in TEXTS}, "models": '["m"]', "max_in_flight": "5", "ranks": "1", "sync": "true"}
    for key, value in values.items():
        url = f"http://127.0.0.1:{free_port()}"
        if form == "{}":
            body = f'{{"url":"{url}","{key}":{value},"{key}":{value}}}'
        else:
            body = form.format(url=url, key=key, value=value, code=ord(key[0]), rest=key[1:])
        status, message = post(router, body)
        equal(status, 400, f"status with {key} twice")
        assert f'"{key}" is there twice' in message or '"url" is there twice' in message, message
    name = router.workers()[0]["name"]
    status, message = post(router, '{"max_in_flight":5,"max_in_flight":6}', "PATCH", f"/workers/{name}")
    equal((status, message), (400, '"max_in_flight" is there twice'), "of a change")
    equal(len(router.workers()), 1, "workers")


@cases({"same": ("",), "slash": ("/",)})
def a_url_that_is_served_already_is_taken(world, end):
    router = router_of(world)
    worker = router.workers()[0]
    status, message = post(router, json.dumps({"url": worker["url"] + end, "name": "other"}))
    equal((status, message), (409, f'there is a worker with this url already: "{worker["name"]}"'), "url")
    status, message = post(router, json.dumps({"url": f"http://127.0.0.1:{free_port()}", "name": worker["name"]}))
    equal((status, message), (409, f'there is a worker named "{worker["name"]}" already'), "name")
    equal(post(router, json.dumps({"url": worker["url"] + "/base", "name": "other"}))[0], 201, "another base path")
    for path in ("/workers/other", f"/workers/{worker['name']}"):
        equal(post(router, "", "DELETE", path)[0], 200, "removed")
    equal(post(router, json.dumps({"url": worker["url"], "name": "other"}))[0], 201, "after it was removed")


@cases({"given": (6400, 100), "none": (0, 0)})
def a_prefix_cache_that_an_engine_does_not_tell_of_is_given(world, tokens, blocks):
    """In blocks of 64 tokens, until a prompt shows another size."""
    router = router_of(world)
    body = {"url": f"http://127.0.0.1:{free_port()}", "name": "other", "prefix_cache_tokens": tokens}
    for wrong in (-2, 1.5, "16", 1_000_000_001):
        status, message = post(router, json.dumps({**body, "prefix_cache_tokens": wrong}))
        equal((status, message), (400, '"prefix_cache_tokens" must be a whole number from -1 to 1000000000'), "refused")
    upstream = world.upstream([in_chunks(CHAT_STREAM)])
    equal(post(router, json.dumps({**body, "url": upstream.url}))[0], 201, "taken")
    until(lambda: all(worker["state"] == "routable" for worker in router.workers()), "it is probed")
    line = f'evenkeel_worker_prefix_capacity_blocks{{worker="other"}} {blocks}'
    until(lambda: line in router.admin("/metrics").decode().splitlines(), line)


if __name__ == "__main__":
    kit.main()
