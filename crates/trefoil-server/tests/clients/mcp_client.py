#!/usr/bin/env python3
"""Tests `/mcp` with the official Python client of the Model Context Protocol as PyPI has it.

Usage: mcp_client.py URL KEY [ADMIN_KEY] [--only TEXT]

The server serves ../flows with `--model scripted=answers.yaml` and needs a key. Each check runs twice: with the handshake and sessions
of protocol version 2025-11-25, and with version 2026-07-28, which has neither. What the runs became is read from the API of agntz of
the same server.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from checks import ARTICLE, FLOWS, GREETING, HURT, Report, expect, expect_match, expect_words, raised_async, read_arguments, wait_until
from mcp import Client, MCPDeprecationWarning, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
# What only the older version has is deprecated.
warnings.simplefilter("ignore", MCPDeprecationWarning)
# The member of `_meta` of a result that has the id of its run.
RUN = "trefoil/run"
INVALID_PARAMS = -32602

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Side:
    """A server, and how to connect to it in one version of the protocol."""

    def __init__(self, url: str, key: str, mode: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.key = key
        self.mode = mode
        self.http = http

    @asynccontextmanager
    async def connect(self, answers: Callable[[Any], Any] | None = None, key: str | None = None) -> AsyncIterator[Client]:
        """A connected client. `answers` answers the questions of flows; without it, the client cannot be asked."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        timeout = httpx2.Timeout(30, read=60)

        async def elicit(_: Any, request: Any) -> Any:
            return answers(request)

        async with httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as http:
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            callback = elicit if answers else None
            async with Client(transport, mode=self.mode, elicitation_callback=callback) as client:
                yield client

    async def post(self, body: Any, **headers: str) -> httpx2.Response:
        """A request without a client."""
        sent = {**ACCEPT, "Authorization": f"Bearer {self.key}", **headers}
        return await self.http.post(f"{self.url}/mcp", json=body, headers={name: text for name, text in sent.items() if text})

    async def runs(self, flow: str) -> list[dict[str, Any]]:
        """The newest runs of a flow."""
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = await self.http.get(f"{self.url}/runs?agentId={flow}&limit=50", headers=headers)
        return answer.json()["rows"]

    async def status(self, run_id: str) -> str:
        headers = {"Authorization": f"Bearer {self.key}"}
        return (await self.http.get(f"{self.url}/runs/{run_id}", headers=headers)).json()["status"]

    async def cancel(self, run_id: str) -> None:
        await self.http.post(f"{self.url}/runs/{run_id}/cancel", headers={"Authorization": f"Bearer {self.key}"})


def text_of(result: Any) -> str:
    """The text of a result, which says nothing of the operator's machine."""
    assert len(result.content) == 1 and result.content[0].type == "text", f"content: expected one text, got {result!r}"
    text = result.content[0].text
    for private in (str(FLOWS), "--store"):
        assert private not in text, f"content: expected nothing of the server's files, got {text!r}"
    return text


def run_of(result: Any) -> str:
    run_id = (result.meta or {}).get(RUN)
    expect_match(f"_meta[{RUN}]", run_id, "[A-Za-z0-9_-]+")
    return run_id


async def connecting(side: Side) -> None:
    """the client connects and agrees on the version"""
    async with side.connect() as client:
        expect("protocol version", client.protocol_version, MODES[side.mode])
        expect("name of the server", client.server_info.name, "trefoil")
        assert client.server_info.version, "version of the server: expected one"
        assert client.server_capabilities.tools is not None, "capabilities: expected tools"
        if side.mode == "legacy":
            await client.send_ping()


async def listing(side: Side) -> None:
    """list has the flows with their schemas"""
    async with side.connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name in ("greeter", "article", "grader", "approval", "echo"):
        assert name in tools, f"tools: expected {name}, got {sorted(tools)}"
    expect("description", tools["greeter"].description, "Says good morning")
    expect("properties of greeter", sorted(tools["greeter"].input_schema["properties"]), ["input"])
    schema = tools["grader"].input_schema
    expect("required of grader", sorted(schema["required"]), ["essay", "points"])
    expect("schema of points", schema["properties"]["points"], {"type": "integer", "minimum": 0, "maximum": 10})
    expect("output of grader", sorted(tools["grader"].output_schema["properties"]), ["grade", "passed"])
    expect("output of greeter", tools["greeter"].output_schema, None)


async def calling(side: Side) -> None:
    """a call returns the text of the flow, and the id of its run"""
    async with side.connect() as client:
        result = await client.call_tool("greeter", {"input": "hi"})
        expect("isError", result.is_error, False)
        expect("text", text_of(result), GREETING)
        expect("structured content", result.structured_content, None)
        expect("status of the run", await side.status(run_of(result)), "completed")
        again = await client.call_tool("greeter", {"input": "hi"})
        assert run_of(again) != run_of(result), "expected another run for another call"


async def structured(side: Side) -> None:
    """an object is structured content, and text, too"""
    async with side.connect() as client:
        graded = await client.call_tool("grader", {"essay": "On otters.", "points": 3})
        expect("structured content", graded.structured_content, {"grade": "B", "passed": True})
        expect("text", json.loads(text_of(graded)), {"grade": "B", "passed": True})
        article = await client.call_tool("article", {"topic": "otters"})
        expect("structured content", article.structured_content, {"topic": "otters", "text": ARTICLE})


async def hurting(side: Side) -> None:
    """awkward characters and large texts arrive whole"""
    async with side.connect() as client:
        expect("text", text_of(await client.call_tool("hurt", {"input": "hi"})), HURT)
        # An object is there twice, and this client refuses an event of a stream above 1 MiB. Only the newer version answers without one.
        large = "ä" * (200_000 if side.mode == "legacy" else 500_000)
        for value in (HURT, large, ""):
            result = await client.call_tool("echo", {"input": value})
            assert result.structured_content["echo"] == value, f"echo: expected {len(value)} characters back"
        expect("empty answer", text_of(await client.call_tool("blank", {"input": "hi"})), "")


async def unknown_tool(side: Side) -> None:
    """an unknown tool is an error of the protocol"""
    async with side.connect() as client:
        for name in ("no-such-flow", "", "../greeter", "x" * 5000):
            error = await raised_async(f"call of {name[:20]!r}", MCPError, client.call_tool(name, {}))
            expect(f"code for {name[:20]!r}", error.code, INVALID_PARAMS)
        # The connection still works.
        expect("text", text_of(await client.call_tool("greeter", {"input": "hi"})), GREETING)


async def wrong_input(side: Side) -> None:
    """wrong input is an error result with every fault, and no run"""
    before = (await side.runs("grader"))[:1]
    async with side.connect() as client:
        for arguments, words in (
            ({"essay": 5, "points": 11}, ["essay", "points"]),
            ({"essay": 5}, ["essay", "points"]),
            ({}, ["essay", "points"]),
            (None, ["essay", "points"]),
            ({"essay": "x", "points": 1, "pionts": 2}, ["pionts"]),
        ):
            result = await client.call_tool("grader", arguments)
            expect(f"isError for {arguments}", result.is_error, True)
            expect_words(f"text for {arguments}", text_of(result), *words)
        result = await client.call_tool("greeter", {"input": {"no": "text"}})
        expect("isError for an object as text", result.is_error, True)
    expect("newest run", (await side.runs("grader"))[:1], before)


async def failing(side: Side) -> None:
    """a failing run is an error result with code and run"""
    async with side.connect() as client:
        result = await client.call_tool("failing", {"input": "hi"})
        expect("isError", result.is_error, True)
        expect_words("text", text_of(result), "MODEL_ERROR", "this model refuses", "failing.yaml")
        expect("status of the run", await side.status(run_of(result)), "failed")


async def not_runnable(side: Side) -> None:
    """a flow that cannot run is not listed, or is an error result"""
    async with side.connect() as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        for name, arguments in (("picture", {}), ("hasty", {"input": "hi"})):
            if name in names:
                result = await client.call_tool(name, arguments)
                expect(f"isError of {name}", result.is_error, True)
                expect_words(f"text of {name}", text_of(result), "not")
            else:
                await raised_async(f"call of {name}", MCPError, client.call_tool(name, arguments))


async def progress(side: Side) -> None:
    """progress arrives while the run goes on"""
    seen: list[tuple[float, str]] = []
    times = []

    async def take(done: float, _: float | None, message: str | None) -> None:
        seen.append((done, message or ""))
        times.append(time.monotonic())

    async with side.connect() as client:
        await client.call_tool("stepwise", {}, progress_callback=take)
    ended = time.monotonic()
    numbers = [done for done, _ in seen]
    assert len(numbers) >= 3, f"progress: expected one for each step, got {seen}"
    expect("order of the numbers", numbers, sorted(set(numbers)))
    for step in ("first", "second", "third"):
        assert any(step in message for _, message in seen), f"progress: expected a message on {step}, got {seen}"
    assert ended - times[0] > 0.8, f"expected the first message 1.8 s before the end, got {ended - times[0]:.2f} s"


async def together(side: Side) -> None:
    """twenty calls over one connection each get their own answer"""
    async with side.connect() as client:
        calls = [client.call_tool("echo", {"input": f"{number}"}) for number in range(20)]
        results = await asyncio.gather(*calls)
    echoes = [result.structured_content["echo"] for result in results]
    expect("answers", echoes, [f"{number}" for number in range(20)])


async def cancelling(side: Side) -> None:
    """a call that the client gives up cancels its run"""
    known = {row["id"] for row in await side.runs("slow")}
    async with side.connect() as client:
        calling = asyncio.create_task(client.call_tool("slow", {"input": "hi"}))

        async def begun() -> Any:
            return [row for row in await side.runs("slow") if row["id"] not in known]

        [row] = await wait_until("a run", begun)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

        async def cancelled() -> bool:
            return await side.status(row["id"]) == "cancelled"

        await wait_until("the cancellation of the run", cancelled)
        expect("text", text_of(await client.call_tool("greeter", {"input": "hi"})), GREETING)


async def answered(side: Side) -> None:
    """a question of a flow goes to the client, which answers it"""
    asked = []

    def answer(request: Any) -> Any:
        asked.append(request)
        return ElicitResult(action="accept", content={"answer": "yes"})

    async with side.connect(answer) as client:
        result = await client.call_tool("approval", {"task": "News"})
    expect("number of questions", len(asked), 1)
    expect_words("question", asked[0].message, "Publish this? News")
    schema = asked[0].requested_schema
    schema = schema if isinstance(schema, dict) else schema.model_dump(by_alias=True, exclude_none=True)
    expect("answers that are accepted", schema["properties"]["answer"].get("enum"), ["yes", "no"])
    expect("isError", result.is_error, False)
    expect("text", text_of(result).strip(), "published")
    expect("status of the run", await side.status(run_of(result)), "completed")


async def answered_again(side: Side) -> None:
    """an answer that is not accepted is asked for again"""
    asked = []

    def answer(request: Any) -> Any:
        asked.append(request.message)
        return ElicitResult(action="accept", content={"answer": "perhaps" if len(asked) == 1 else "NO"})

    async with side.connect(answer) as client:
        result = await client.call_tool("approval", {"task": "News"})
    expect("number of questions", len(asked), 2)
    expect_words("second question", asked[1], "perhaps", "not accepted")
    expect("text", text_of(result).strip(), "kept back")


async def declined(side: Side) -> None:
    """a question that is declined, closed, or cannot be asked stays open"""
    for what, answers in {
        "declined": lambda _: ElicitResult(action="decline"),
        "closed": lambda _: ElicitResult(action="cancel"),
        "not asked": None,
    }.items():
        async with side.connect(answers) as client:
            result = await client.call_tool("approval", {"task": "News"})
        expect(f"{what}, isError", result.is_error, True)
        run_id = run_of(result)
        expect_words(f"{what}, text", text_of(result), "waiting", "Publish this? News", run_id)
        found = result.structured_content
        expect(f"{what}, run and status", (found["run"], found["status"]), (run_id, "waiting"))
        [question] = found["waiting"]
        expect(f"{what}, answers that are accepted", question["accepts"], ["yes", "no"])
        assert str(FLOWS) not in json.dumps(found), f"{what}: expected nothing of the server's files, got {found}"
        expect(f"{what}, status of the run", await side.status(run_id), "running")
        await side.cancel(run_id)


async def wrong_key(side: Side) -> None:
    """without a right key, nothing is answered"""
    for what, headers in {
        "a wrong key": {"Authorization": "Bearer wrong"},
        "no key": {"Authorization": ""},
        "another scheme": {"Authorization": f"Basic {side.key}"},
    }.items():
        response = await side.post(INITIALIZE, **headers)
        expect(f"status with {what}", response.status_code, 401)
        expect_words(f"WWW-Authenticate with {what}", response.headers.get("www-authenticate", ""), "Bearer")

    async def list_tools() -> Any:
        async with side.connect(key="wrong") as client:
            return await client.list_tools()

    await raised_async("the client with a wrong key", (Exception, ExceptionGroup), list_tools())


async def session_of_another(side: Side) -> None:
    """a session is of no use without the key"""
    response = await side.post(INITIALIZE)
    expect(f"status ({response.text[:200]})", response.status_code, 200)
    session = response.headers.get("mcp-session-id", "")
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    version = {"MCP-Protocol-Version": "2025-11-25"}
    response = await side.post(listing, **{"Mcp-Session-Id": session, "Authorization": "Bearer wrong"}, **version)
    expect("status with a wrong key", response.status_code, 401)
    response = await side.post(listing, **{"Mcp-Session-Id": "no-such-session"}, **version)
    assert response.status_code in (400, 404), f"an unknown session: expected 404 or 400, got {response.status_code}"


async def other_origin(side: Side) -> None:
    """a page of another origin is refused, also with a key"""
    # Names of hosts are the matter of servers that need no key.
    for origin in ("http://evil.example", "https://evil.example:443", "null", ""):
        response = await side.post(INITIALIZE, Origin=origin or "://")
        expect(f"status with the origin {origin!r}", response.status_code, 403)
    response = await side.post(INITIALIZE, Origin=side.url)
    expect("status with its own origin", response.status_code, 200)


async def wrong_messages(side: Side) -> None:
    """a body that is no message is refused, and the server goes on"""
    headers = {**ACCEPT, "Authorization": f"Bearer {side.key}", "Content-Type": "application/json"}
    for body in (b"{", b"", b"5", b'{"jsonrpc": "1.0"}', b"\xff\xfe"):
        response = await side.http.post(f"{side.url}/mcp", content=body, headers=headers)
        assert 400 <= response.status_code < 500, f"the body {body!r}: expected 4xx, got {response.status_code}"
    async with side.connect() as client:
        expect("text", text_of(await client.call_tool("greeter", {"input": "hi"})), GREETING)


CHECKS = [
    connecting,
    listing,
    calling,
    structured,
    hurting,
    unknown_tool,
    wrong_input,
    failing,
    not_runnable,
    progress,
    together,
    cancelling,
    answered,
    answered_again,
    declined,
]
# Those that need no client, or the same one in each version.
ONCE = [wrong_key, session_of_another, other_origin, wrong_messages]


async def main() -> int:
    arguments = read_arguments("Tests /mcp with the official client.")
    report = Report(arguments.only)
    async with httpx2.AsyncClient(timeout=45, trust_env=False) as http:
        for mode, version in MODES.items():
            for check in CHECKS:
                side = Side(arguments.url, arguments.key, mode, http)
                await report.check_async(f"mcp {version}: {check.__doc__}", check, side)
        for check in ONCE:
            await report.check_async(f"mcp: {check.__doc__}", check, Side(arguments.url, arguments.key, "legacy", http))
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
