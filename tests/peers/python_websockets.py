# SPDX-License-Identifier: MIT
"""
Python's websockets as a peer of the WebSocket tests.

python_websockets.py serve PORT               an origin; the last segments of the path say what it does
python_websockets.py ask PART URL CA CASE...  a client: prints a line of JSON for each case, null or what is wrong;
                                              it sends a PART-th of what it otherwise would
"""
import asyncio
import http
import json
import ssl
import sys

import websockets

LIMITS = {"max_size": 64 << 20, "compression": "deflate", "ping_interval": None, "close_timeout": 30}
PART = int(sys.argv[2]) if sys.argv[1] == "ask" else 1
MANY = 10000 // PART


def say(**what):
    print(json.dumps(what), flush=True)


async def serve(ws):
    does, _, argument = ws.path.split("?")[0].split("/", 2)[2].partition("/")
    run = ws.request_headers.get("x-run", "")
    try:
        if does == "tells":
            headers = {name.lower(): value for name, value in ws.request_headers.raw_items()}
            await ws.send(json.dumps({"version": "1.1", "path": ws.path, "headers": headers, "protocol": ws.subprotocol or "",
                                      "deflate": any(e.name == "permessage-deflate" for e in ws.extensions)}))
        async for message in ws:
            if does == "echo":
                await ws.send(message)
            elif does == "pings":
                await (await ws.ping(message))
                await ws.send("pong " + (message if isinstance(message, str) else message.decode()))
            elif does == "closes":
                await ws.close(int(argument) if argument else 1000, message)
            elif does == "drops":
                ws.transport.abort()
    except websockets.ConnectionClosed:
        pass
    await ws.wait_closed()
    say(run=run, closed={"code": ws.close_code, "reason": ws.close_reason})


async def refuse(path, headers):
    parts = path.split("/")
    if parts[2] != "refuse":
        return None
    status = http.HTTPStatus(int(parts[3]))
    return status, [("x-answer", "from the origin"), ("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2")], b"refused by Python"


async def run_server(port):
    async with websockets.serve(serve, "127.0.0.1", port, process_request=refuse, subprotocols=["chosen"],
                                extra_headers=[("x-answer", "from the origin"), ("set-cookie", "a=1; Path=/"), ("set-cookie", "b=2")], **LIMITS):
        await asyncio.Future()


def message(i):
    text = f"{i} " + "w" * (i * 37 % 300)
    return text if i % 2 else text.encode()


async def echo(opened):
    async with opened("echo") as ws:
        async def send():
            for i in range(MANY):
                await ws.send(message(i))
        sender = asyncio.create_task(send())
        for i in range(MANY):
            assert await ws.recv() == message(i), i
        await sender


async def large(opened):
    big = bytes(range(251)) * (10 * 1024 * 1024 // 251 // PART)
    async with opened("echo", compression=None) as ws:
        await ws.send(big)
        assert await ws.recv() == big
        await ws.send("after")
        assert await ws.recv() == "after"


async def ping(opened):
    async with opened("pings") as ws:
        await asyncio.wait_for(await ws.ping("mine"), 20)
        await ws.send("yours")
        assert await ws.recv() == "pong yours"


async def close(opened):
    async with opened("closes/4002") as ws:
        await ws.send("the origin's reason")
        await ws.wait_closed()
        assert (ws.close_code, ws.close_reason) == (4002, "the origin's reason"), (ws.close_code, ws.close_reason)
    async with opened("echo") as ws:
        await ws.close(4001, "mine")
        assert ws.close_code == 4001, ws.close_code


async def drop(opened):
    async with opened("drops") as ws:
        await ws.send("now")
        await ws.wait_closed()
        assert ws.close_code == 1006, ws.close_code


async def subprotocol(opened):
    async with opened("echo", subprotocols=["other", "chosen"]) as ws:
        assert ws.subprotocol == "chosen", ws.subprotocol


async def deflate(opened):
    async with opened("tells") as ws:
        assert json.loads(await ws.recv())["deflate"] is True
        assert [e.name for e in ws.extensions] == ["permessage-deflate"], ws.extensions


async def fields(opened):
    async with opened("tells", extra_headers={"cookie": "c=1; d=2", "x-own": "yes"}) as ws:
        seen = json.loads(await ws.recv())["headers"]
        assert (seen["cookie"], seen["x-own"]) == ("c=1; d=2", "yes"), seen
        assert "pushgate" in seen["via"], seen
        assert ws.response_headers["x-answer"] == "from the origin", ws.response_headers
        assert ws.response_headers.get_all("set-cookie") == ["a=1; Path=/", "b=2"], ws.response_headers


async def refusals(opened):
    for status in (401, 404, 426, 503):
        try:
            async with opened(f"refuse/{status}"):
                raise AssertionError("it was opened")
        except websockets.InvalidStatusCode as error:
            assert error.status_code == status, error
            assert error.headers["x-answer"] == "from the origin", error.headers


async def run_client(url, ca, cases):
    trusted = ssl.create_default_context(cafile=ca) if url.startswith("wss:") else None

    def opened(path, **more):
        return websockets.connect(url + path, **{**LIMITS, "open_timeout": 120, "ssl": trusted, **more})

    for case in cases:
        try:
            await asyncio.wait_for({"echo": echo, "10MB": large, "ping": ping, "close": close, "drop": drop, "protocol": subprotocol,
                                    "deflate": deflate, "fields": fields, "refusals": refusals}[case](opened), 180)
            say(**{case: None})
        except Exception as error:  # the test that runs this prints it
            say(**{case: f"{type(error).__name__}: {error}"})


if sys.argv[1] == "serve":
    asyncio.run(run_server(int(sys.argv[2])))
else:
    asyncio.run(run_client(sys.argv[3], sys.argv[4], sys.argv[5:]))
