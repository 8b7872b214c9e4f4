"""Health, keys, the form of errors."""

from __future__ import annotations

from agntz.client import AuthenticationError, NotFoundError
from checks import expect, expect_words, raised_async

from .side import Side


async def health(side: Side) -> None:
    """health answers without a key"""
    found = await side.client.health()
    expect("health, status", found.status, "ok")
    assert found.service, f"health: expected the name of the service, got {found!r}"
    sent = side.last.request.headers
    assert "authorization" not in sent, "health: expected that the client sends no key"


async def slash(side: Side) -> None:
    """a base URL may end in a slash"""
    client = side.connect_with(side.key, f"{side.url}/")
    expect("health, status", (await client.health()).status, "ok")
    await client.agents.list()


async def bad_key(side: Side) -> None:
    """a wrong key is 401 everywhere"""
    client = side.connect_with("ar_live_this-key-does-not-exist")
    calls = {
        "agents.run": lambda: client.agents.run(agent_id="greeter", input="hi"),
        "agents.start": lambda: client.agents.start(agent_id="greeter", input="hi"),
        "agents.list": lambda: client.agents.list(),
        "agents.get": lambda: client.agents.get("greeter"),
        "runs.list": lambda: client.runs.list(),
        "runs.get": lambda: client.runs.get("no-such-run"),
        "runs.cancel": lambda: client.runs.cancel("no-such-run"),
        "traces.list": lambda: client.traces.list(),
        "sessions.list": lambda: client.sessions.list(),
        "datasets.list": lambda: client.datasets.list(),
    }
    for name, call in calls.items():
        error = await raised_async(f"{name} with a wrong key", AuthenticationError, call())
        expect(f"{name} with a wrong key, status", error.status, 401)
        assert error.code, f"{name} with a wrong key: expected a code"
        assert "ar_live_this" not in str(error), f"{name}: expected that the error does not repeat the key, got {error}"


async def bad_key_of_stream(side: Side) -> None:
    """a wrong key is 401 before a stream begins"""
    client = side.connect_with("ar_live_this-key-does-not-exist")
    streams = {
        "agents.stream": client.agents.stream(agent_id="greeter", input="hi"),
        "runs.stream": client.runs.stream(run_id="no-such-run"),
        "traces.stream": client.traces.stream("no-such-run"),
    }
    for name, stream in streams.items():
        await side.refused_stream(f"{name} with a wrong key", anext(stream), 401)


async def key_forms(side: Side) -> None:
    """a request without a key, or with another scheme, is 401"""
    for what, headers in {
        "no key": {"Authorization": ""},
        "another scheme": {"Authorization": f"Basic {side.key}"},
        "a key in another header": {"Authorization": "", "X-Internal-Secret": side.key},
    }.items():
        await side.refused_raw(what, "GET", "/agents", 401, headers=headers)
    await side.refused_raw("a key in the address", "GET", f"/agents?key={side.key}", 401, headers={"Authorization": ""})


async def unknown_agent(side: Side) -> None:
    """an unknown agent is 404 and named"""
    error = await raised_async("run", NotFoundError, side.client.agents.run(agent_id="no-such-agent", input="hi"))
    expect("run of an unknown agent, code", error.code, "AGENT_NOT_FOUND")
    expect_words("run of an unknown agent", str(error), "no-such-agent", "not found")
    await side.refused("start", side.client.agents.start(agent_id="no-such-agent"), 404, "AGENT_NOT_FOUND")
    stream = side.client.agents.stream(agent_id="no-such-agent")
    await side.refused_stream("stream of an unknown agent", anext(stream), 404, "AGENT_NOT_FOUND")
    await side.refused("get", side.client.agents.get("no-such-agent"), 404, "AGENT_NOT_FOUND")


async def unknown_run(side: Side) -> None:
    """an unknown run is 404"""
    for run_id in ("no-such-run", "0123456789abcdef", "run_0123456789ab"):
        await side.refused("runs.get", side.client.runs.get(run_id), 404)
        await side.refused("runs.cancel", side.client.runs.cancel(run_id), 404)
        await side.refused("traces.get", side.client.traces.get(run_id), 404)
        await side.refused_stream("runs.stream", anext(side.client.runs.stream(run_id=run_id)), 404)
        await side.refused_stream("traces.stream", anext(side.client.traces.stream(run_id)), 404)


async def odd_ids(side: Side) -> None:
    """an id that is a path, or no text, finds nothing and breaks nothing"""
    for odd in ("..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a%00b", "%ff%fe", "x" * 3000, "%27%3B%20DROP%20TABLE%20runs"):
        for path in (f"/runs/{odd}", f"/traces/{odd}", f"/agents/{odd}"):
            response = await side.http.get(path)
            assert response.status_code in (400, 404, 414), f"{path[:60]}: expected 400, 404 or 414, got {response.status_code}"
    await side.refused("agents.get of a path", side.client.agents.get("../../etc/passwd"), 404)
    await side.refused("agents.run of a path", side.client.agents.run(agent_id="../../etc/passwd"), 404)


async def bad_bodies(side: Side) -> None:
    """a body that is not what the call needs is 400 and says why"""
    for path in ("/run", "/run/stream", "/runs"):
        body = await side.refused_raw(f"{path} without an agent", "POST", path, 400, json={"input": "hi"})
        expect_words(f"{path} without an agent", body["error"], "agentId")
        for what, content in {
            "no JSON": b"{agentId: greeter}",
            "a list": b"[]",
            "half of an object": b'{"agentId": "greeter"',
            "nothing": b"",
            "an agent that is no text": b'{"agentId": 5}',
            "bytes that are no text": b'{"agentId": "\xff\xfe"}',
        }.items():
            headers = {"Content-Type": "application/json"}
            await side.refused_raw(f"{path} with {what}", "POST", path, 400, content=content, headers=headers)


async def unknown_path(side: Side) -> None:
    """a path that no API has is 404 as JSON"""
    await side.refused_raw("GET /no-such-thing", "GET", "/no-such-thing", 404)
    await side.refused_raw("POST /runs/x/no-such-thing", "POST", "/runs/x/no-such-thing", 404)


CHECKS = [
    health,
    slash,
    bad_key,
    bad_key_of_stream,
    key_forms,
    unknown_agent,
    unknown_run,
    odd_ids,
    bad_bodies,
    unknown_path,
]
