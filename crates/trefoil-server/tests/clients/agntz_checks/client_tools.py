"""Tools that the client implements."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import datetime
from typing import Any

from agntz.client import AgntzError, StreamError
from checks import expect, expect_match, expect_words, raised_async

from .side import Side


def tool_calls(run: Any, name: str) -> list[dict[str, Any]]:
    return [call for call in run.result["toolCalls"] if call["name"] == name]


async def run_with_tools(side: Side) -> None:
    """handlers get the arguments of the model, and it gets their results"""
    contexts = []

    def get_selection(value: Any, context: Any) -> Any:
        contexts.append(context)
        return {"field": value["field"], "text": f"the {value['field']}"}

    result = await side.client.agents.run(
        agent_id="selection", input="improve", client_tools={"get_selection": get_selection}
    )
    expect("output", result.output, "Better text.")
    expect("status", result.status, "completed")
    expect("number of calls", len(contexts), 2)
    expect("number of request ids", len({context.request_id for context in contexts}), 2)
    for context in contexts:
        assert context.tool_call_id, "toolCallId: expected one"
        assert context.run_id, "runId: expected one"
        expect_match("deadlineAt", context.deadline_at, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
        left = datetime.fromisoformat(context.deadline_at).timestamp() - time.time()
        assert 15 < left <= 31, f"deadlineAt: expected 30 s after the request, got {left:.1f} s from now"
    run = await side.client.runs.get(result.run_id)
    calls = sorted(tool_calls(run, "get_selection"), key=lambda call: call["input"]["field"])
    expect("inputs in result.toolCalls", [call["input"] for call in calls], [{"field": "body"}, {"field": "title"}])
    expect("outputs in result.toolCalls", [call["output"] for call in calls], [
        {"field": "body", "text": "the body"},
        {"field": "title", "text": "the title"},
    ])
    expect("ids in result.toolCalls", {call["id"] for call in calls}, {context.tool_call_id for context in contexts})


async def coroutine_handlers(side: Side) -> None:
    """a handler may be a coroutine, and may return any JSON"""
    for value in ("text", "", None, 0, False, [], {}, ["a", {"b": None}], "line\u2028end\u0085 \0"):

        async def get_selection(_: Any, __: Any, value: Any = value) -> Any:
            await asyncio.sleep(0.01)
            return value

        result = await side.client.agents.run(agent_id="selection", client_tools={"get_selection": get_selection})
        run = await side.client.runs.get(result.run_id)
        for call in tool_calls(run, "get_selection"):
            expect(f"output in result.toolCalls for {value!r}", call["output"], value)


async def raising_handler(side: Side) -> None:
    """the error of a handler goes to the model, which goes on"""

    def get_selection(value: Any, _: Any) -> Any:
        if value["field"] == "title":
            raise ValueError("nothing is selected\u2028here")
        return "the body"

    result = await side.client.agents.run(agent_id="selection", client_tools={"get_selection": get_selection})
    expect("output", result.output, "Better text.")
    run = await side.client.runs.get(result.run_id)
    calls = {call["input"]["field"]: call for call in tool_calls(run, "get_selection")}
    expect_words("error of the call in result.toolCalls", calls["title"].get("error"), "nothing is selected")
    expect("error of the other call", calls["body"].get("error"), None)
    expect("output of the other call", calls["body"]["output"], "the body")


async def unusable_output(side: Side) -> None:
    """an output that is no JSON, or too long, is an error for the model"""
    for value in (object(), "x" * 40_001):
        result = await side.client.agents.run(
            agent_id="selection", client_tools={"get_selection": lambda _, __, value=value: value}
        )
        expect("output", result.output, "Better text.")
        run = await side.client.runs.get(result.run_id)
        assert tool_calls(run, "get_selection")[0].get("error"), "result.toolCalls: expected an error"


async def stream_with_tools(side: Side) -> None:
    """stream handles the requests and does not show them"""
    calls = []

    def get_selection(value: Any, _: Any) -> Any:
        calls.append(value["field"])
        return "text"

    stream = side.client.agents.stream(agent_id="desk", client_tools={"get_selection": get_selection, "unused": print})
    events = [event async for event in stream]
    expect("events", [event.type for event in events], ["start", "complete"])
    expect("output", events[-1].output, {"signed": "Better text., signed"})
    expect("calls", sorted(calls), ["body", "title"])
    feed = [event async for event in side.client.runs.stream(run_id=events[0].run_id)]
    names = [event.type for event in feed]
    expect("number of tool-call-start", names.count("tool-call-start"), 2)
    expect("number of tool-call-end", names.count("tool-call-end"), 2)


async def missing_tools(side: Side) -> None:
    """a run whose tools the client does not have is refused before it starts"""
    for agent_id in ("selection", "desk"):
        before = await side.newest_run(agent_id)
        for handlers in ({}, {"another": print}):
            stream = side.client.agents.stream(agent_id=agent_id, client_tools=handlers)
            what = f"stream of {agent_id} with {sorted(handlers)}"
            body = await side.refused_stream(what, anext(stream), 400, "MISSING_CLIENT_TOOLS")
            expect(f"details of {what}", body.get("details"), ["get_selection"])
        stream = side.client.agents.stream(agent_id=agent_id)
        await side.refused_stream(f"stream of {agent_id} without tools", anext(stream), 400, "MISSING_CLIENT_TOOLS")
        after = await side.newest_run(agent_id)
        expect(f"newest run of {agent_id}", after, before)


async def detached(side: Side) -> None:
    """a run that nobody follows cannot use the client's tools"""
    code = "CLIENT_TOOLS_REQUIRE_ATTACHED_RUN"
    await side.refused("run", side.client.agents.run(agent_id="selection"), 400, code)
    await side.refused("start", side.client.agents.start(agent_id="selection"), 400, code)
    await side.refused("start of `desk`", side.client.agents.start(agent_id="desk"), 400, code)


async def wrong_names(side: Side) -> None:
    """`clientTools` must be a list of names"""
    for wrong in ("get_selection", [5], {"get_selection": True}):
        body = {"agentId": "selection", "clientTools": wrong}
        await side.refused_raw(f"clientTools {wrong}", "POST", "/run/stream", 400, json=body)


async def deadline(side: Side) -> None:
    """a handler that is too slow gets 410, and the run goes on"""
    contexts = []

    async def get_time(_: Any, context: Any) -> Any:
        contexts.append(context)
        await asyncio.sleep(3)
        return "noon"

    took, result = await side.seconds(
        side.client.agents.run(agent_id="hasty", client_tools={"get_time": get_time})
    )
    expect("output", result.output, "It is late.")
    assert took < 3.5, f"expected that the run goes on after 1 s, got {took:.1f} s"
    [context] = contexts
    posts = [one for one in side.exchanges if one.path.endswith(f"/{context.request_id}/result")]
    assert posts, "expected that the client sent its error"
    run = await side.client.runs.get(result.run_id)
    [call] = tool_calls(run, "get_time")
    expect_words("error in result.toolCalls", call.get("error"), "tim")
    path = f"/runs/{result.run_id}/client-tool-requests/{context.request_id}/result"
    await side.refused_raw("a result after the deadline", "POST", path, 410, json={"output": "noon"})


async def results_by_hand(side: Side) -> None:
    """results: 202, 200 for a repeat, 400 for wrong ones, 404 for unknown requests"""
    body = {"agentId": "selection", "clientTools": ["get_selection"]}
    requests = []
    async with side.frames("POST", "/run/stream", json=body) as frames:
        async for frame in frames:
            if frame.event == "run-start":
                root = frame.json()["runId"]
            if frame.event == "client-tool-request":
                request = frame.json()
                requests.append(request)
                await answer_request(side, root, frame.id, request, is_first=len(requests) == 1)
            last = frame
    expect("last event", last.event, "run-complete")
    expect("number of requests", len(requests), 2)
    for request in requests:
        path = f"/runs/{root}/client-tool-requests/{request['requestId']}/result"
        response = await side.http.post(path, json={"output": "text"})
        expect("a repeat after the end of the run", (response.status_code, response.json()), (200, {"status": "accepted"}))


async def answer_request(side: Side, root: str, id: str | None, request: dict[str, Any], is_first: bool) -> None:
    expect("type", request["type"], "client-tool-request")
    expect("name", request["name"], "get_selection")
    expect("rootRunId", request["rootRunId"], root)
    expect("id and seq", id, str(request["seq"]))
    assert request["input"]["field"] in ("title", "body"), f"input: expected a field, got {request!r}"
    for name in ("runId", "requestId", "toolCallId"):
        assert re.fullmatch(r"[A-Za-z0-9_.:-]+", request[name]), f"{name}: expected an id, got {request[name]!r}"
    path = f"/runs/{root}/client-tool-requests/{request['requestId']}/result"
    if is_first:
        for what, wrong in {
            "neither": {},
            "both": {"output": 1, "error": "x"},
            "an error that is no text": {"error": {"message": "x"}},
            "an error that is null": {"error": None},
            "a list": [],
            "an output that is too long": {"output": "x" * 40_000},
        }.items():
            await side.refused_raw(f"a result with {what}", "POST", path, 400, json=wrong)
        for other in (
            f"/runs/{root}/client-tool-requests/no-such-request/result",
            f"/runs/no-such-run/client-tool-requests/{request['requestId']}/result",
        ):
            await side.refused_raw("a result for another request", "POST", other, 404, json={"output": 1})
        wrong_key = {"Authorization": "Bearer ar_live_wrong"}
        await side.refused_raw("a result with a wrong key", "POST", path, 401, json={"output": 1}, headers=wrong_key)
    response = await side.http.post(path, json={"output": "text"})
    expect("a result", (response.status_code, response.json()), (202, {"status": "accepted"}))
    response = await side.http.post(path, json={"output": "text"})
    expect("a repeat", (response.status_code, response.json()), (200, {"status": "accepted"}))


async def left_with_request(side: Side) -> None:
    """a client that leaves with an open request cancels the run, and its result is 410"""
    body = {"agentId": "selection", "clientTools": ["get_selection"]}
    async with side.frames("POST", "/run/stream", json=body) as frames:
        async for frame in frames:
            if frame.event == "client-tool-request":
                request = frame.json()
                break
    await side.wait_status(request["rootRunId"], "cancelled")
    path = f"/runs/{request['rootRunId']}/client-tool-requests/{request['requestId']}/result"
    await side.refused_raw("a result of a cancelled run", "POST", path, 410, json={"output": 1})


async def cancelled_with_request(side: Side) -> None:
    """cancel ends a run that waits for the client"""
    cancelled = []

    async def get_selection(_: Any, context: Any) -> Any:
        if not cancelled:
            cancelled.append(context.run_id)
            page = await side.client.runs.list(agent_id="selection", status="running", limit=1)
            await side.client.runs.cancel(page.rows[0].id)
        return "text"

    if side.mode == "sync":
        # The handlers of the synchronous client run in another event loop.
        other = side.connect_with(side.key)._wrapped

        def get_selection(_: Any, context: Any) -> Any:
            if not cancelled:
                cancelled.append(context.run_id)
                other.runs.cancel(other.runs.list(agent_id="selection", status="running", limit=1).rows[0].id)
            return "text"

    error = await raised_async(
        "run", (StreamError, AgntzError), side.client.agents.run(agent_id="selection", client_tools={"get_selection": get_selection})
    )
    expect("error", str(error), "Run cancelled")


CHECKS = [
    run_with_tools,
    coroutine_handlers,
    raising_handler,
    unusable_output,
    stream_with_tools,
    missing_tools,
    detached,
    wrong_names,
    deadline,
    results_by_hand,
    left_with_request,
    cancelled_with_request,
]
