"""One of the two clients, with what the checks need beside it."""

from __future__ import annotations

import asyncio
import inspect
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from agntz.client import AgntzClient, AgntzError, AsyncAgntzClient
from checks import FLOWS, SOON, expect, raised_async, wait_until

# No answer may take longer, in seconds.
ANSWER_LIMIT = 45.0
ENDED = ("completed", "failed", "cancelled")


class Threaded:
    """The synchronous client, or a part of it, called like the asynchronous one: every call runs in a thread."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        if not callable(value):
            return Threaded(value)
        if inspect.isgeneratorfunction(value):
            return lambda *arguments, **named: iterate_in_threads(value(*arguments, **named))

        async def call(*arguments: Any, **named: Any) -> Any:
            return await asyncio.to_thread(value, *arguments, **named)

        return call


async def iterate_in_threads(generator: Any) -> AsyncIterator[Any]:
    """The items of a generator, each fetched in a thread."""
    end = object()
    try:
        while (item := await asyncio.to_thread(next, generator, end)) is not end:
            yield item
    finally:
        await asyncio.to_thread(generator.close)


@dataclass
class Exchange:
    """A request of the client and the head of its answer."""

    method: str
    path: str
    response: httpx.Response


@dataclass
class Frame:
    """A frame of a stream of events, as it was sent."""

    event: str | None
    data: str
    id: str | None

    def json(self) -> Any:
        return json.loads(self.data)


class Side:
    """A client of agntz, its twin with the key of an administrator, and the server without a client."""

    def __init__(self, mode: str, url: str, key: str, admin_key: str) -> None:
        self.mode = mode
        self.url = url
        self.key = key
        self.admin_headers = {"Authorization": f"Bearer {admin_key}"}
        self.exchanges: list[Exchange] = []
        self._open: list[Any] = []
        self.client = self.connect_with(key)
        self.admin = self.connect_with(admin_key)
        self.http = httpx.AsyncClient(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=ANSWER_LIMIT, trust_env=False
        )

    @classmethod
    @asynccontextmanager
    async def connect(cls, mode: str, url: str, key: str, admin_key: str) -> AsyncIterator[Side]:
        side = cls(mode, url, key, admin_key)
        try:
            yield side
        finally:
            for client in side._open:
                await (client.aclose() if hasattr(client, "aclose") else asyncio.to_thread(client.close))
            await side.http.aclose()

    def connect_with(self, key: str, url: str | None = None, timeout: float = ANSWER_LIMIT) -> Any:
        """A client with this key. What it sends and gets is recorded."""

        def record(response: httpx.Response) -> None:
            self.exchanges.append(Exchange(response.request.method, response.request.url.path, response))

        async def record_async(response: httpx.Response) -> None:
            record(response)

        url = url or self.url
        if self.mode == "sync":
            http = httpx.Client(timeout=timeout, trust_env=False, event_hooks={"response": [record]})
            self._open.append(http)
            return Threaded(AgntzClient(api_key=key, base_url=url, http_client=http))
        http = httpx.AsyncClient(timeout=timeout, trust_env=False, event_hooks={"response": [record_async]})
        self._open.append(http)
        return AsyncAgntzClient(api_key=key, base_url=url, http_client=http)

    @property
    def last(self) -> httpx.Response:
        """The last answer that a client got."""
        return self.exchanges[-1].response

    def new_name(self, prefix: str) -> str:
        """A name that no earlier test has used."""
        return f"{prefix}-{self.mode}-{secrets.token_hex(4)}"

    async def refused(self, what: str, awaited: Any, status: int, code: str | None = None) -> dict[str, Any]:
        """A call of the client that must be refused with this status and code. Returns the body of the answer."""
        error = await raised_async(what, AgntzError, awaited)
        expect(f"{what}, status (error: {error})", error.status, status)
        return self._check_problem(what, self.last, code)

    async def refused_stream(self, what: str, awaited: Any, status: int, code: str | None = None) -> dict[str, Any]:
        """A streaming call that must be refused before its first frame. Returns the body of the answer.

        Version 0.5.1 of the client looks at the body of such an answer before it has read it, and raises an error of its HTTP library
        instead of its own. So the status is taken from the answer, and the body from the same request sent again.
        """
        await raised_async(what, (AgntzError, httpx.ResponseNotRead), awaited)
        expect(f"{what}, status", self.last.status_code, status)
        request = self.last.request
        headers = {name: request.headers[name] for name in ("authorization", "accept", "content-type") if name in request.headers}
        content = request.content or None
        response = await self.http.request(request.method, str(request.url), content=content, headers=headers)
        expect(f"{what}, status of the same request again", response.status_code, status)
        return self._check_problem(what, response, code)

    async def refused_raw(
        self, what: str, method: str, path: str, status: int, code: str | None = None, **request: Any
    ) -> dict[str, Any]:
        """The same without a client, for what it cannot send."""
        response = await self.http.request(method, path, **request)
        expect(f"{what}, status (body: {response.text[:300]})", response.status_code, status)
        return self._check_problem(what, response, code)

    def _check_problem(self, what: str, response: httpx.Response, code: str | None) -> dict[str, Any]:
        body = response.json()
        assert isinstance(body, dict), f"{what}: expected an object as the body of an error, got {body!r}"
        text = body.get("error")
        assert isinstance(text, str) and text, f"{what}: expected `error` to be a text, got {body!r}"
        assert str(FLOWS) not in response.text, f"{what}: expected no path of the server's files, got {body!r}"
        found = body.get("code")
        assert isinstance(found, str) and found, f"{what}: expected a `code`, got {body!r}"
        if code is not None:
            expect(f"{what}, code (error: {text})", found, code)
        return body

    async def newest_run(self, agent_id: str) -> str | None:
        """The id of the newest run of a flow, to see that no other one was made."""
        page = await self.client.runs.list(agent_id=agent_id, limit=1)
        return page.rows[0].id if page.rows else None

    async def wait_end(self, run_id: str, limit: float = SOON) -> Any:
        """The run when it has ended."""

        async def ended() -> Any:
            run = await self.client.runs.get(run_id)
            return run if run.status in ENDED else None

        return await wait_until(f"the end of the run {run_id}", ended, limit)

    async def wait_status(self, run_id: str, status: str, limit: float = SOON) -> Any:
        """The run when it has this status."""
        run = await self.wait_end(run_id, limit)
        expect(f"status of the run {run_id} of `{run.agent_id}` (error: {run.error})", run.status, status)
        return run

    @asynccontextmanager
    async def frames(self, method: str, path: str, **request: Any) -> AsyncIterator[AsyncIterator[Frame]]:
        """The frames of a stream as they are sent. Lines end at `\\n` only, as the specification says."""
        async with self.http.stream(method, path, **request) as response:
            if response.status_code != 200:
                await response.aread()
                raise AssertionError(f"{method} {path}: expected 200, got {response.status_code}: {response.text[:300]}")
            kind = response.headers.get("content-type", "")
            assert kind.startswith("text/event-stream"), f"{path}: expected text/event-stream, got {kind!r}"
            yield self._read_frames(path, response)

    async def _read_frames(self, path: str, response: httpx.Response) -> AsyncIterator[Frame]:
        buffer = b""
        async for chunk in response.aiter_bytes():
            buffer += chunk
            while b"\n\n" in buffer:
                raw, buffer = buffer.split(b"\n\n", 1)
                text = raw.decode()
                for character in "\u2028\u2029\u0085":
                    assert character not in text, f"{path}: expected U+{ord(character):04X} to be escaped, got {text!r}"
                fields: dict[str, list[str]] = {}
                for line in text.split("\n"):
                    name, _, value = line.partition(":")
                    fields.setdefault(name, []).append(value.removeprefix(" "))
                if "data" in fields:
                    event, id = fields.get("event", [None])[0], fields.get("id", [None])[0]
                    yield Frame(event, "\n".join(fields["data"]), id)

    async def seconds(self, awaited: Any) -> tuple[float, Any]:
        """How long something takes."""
        started = time.monotonic()
        result = await awaited
        return time.monotonic() - started, result
