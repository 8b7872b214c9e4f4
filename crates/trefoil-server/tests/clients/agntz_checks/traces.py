"""Traces: one, live, of a run that has ended, the list, deletion."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from checks import expect, expect_match, expect_words, wait_until

from .lists import iso, make_runs
from .side import Side

KINDS = ("run", "manifest", "step", "invoke", "model", "tool")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


def check_tree(spans: list[Any], trace_id: str) -> None:
    """Spans with ids of their own, one root, and parents that are there."""
    known = {span.span_id for span in spans}
    expect("number of span ids", len(known), len(spans))
    expect("number of roots", len([span for span in spans if span.parent_id is None]), 1)
    for span in spans:
        expect("traceId", span.trace_id, trace_id)
        assert span.parent_id is None or span.parent_id in known, f"parentId: expected a span, got {span!r}"
        assert span.kind in KINDS, f"kind: expected one of {KINDS}, got {span.kind}"
        assert span.name, f"name: expected one, got {span!r}"
        expect_match("startedAt", span.started_at, TIME)


async def get(side: Side) -> None:
    """get has the spans of a run and their totals"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    for trace_id in (result.trace_id, result.run_id):
        trace = await side.client.traces.get(trace_id)
        summary = trace.summary
        expect("traceId", summary.trace_id, result.trace_id)
        expect("agentId", summary.agent_id, "article")
        expect("status", summary.status, "ok")
        expect("totalTokens, each token once", summary.total_tokens, 41)
        expect("spanCount", summary.span_count, len(trace.spans))
        expect_match("startedAt", summary.started_at, TIME)
        expect_match("endedAt", summary.ended_at, TIME)
        assert isinstance(summary.duration_ms, int), f"durationMs: expected a number, got {summary!r}"
        assert summary.root_name, "rootName: expected one"
        check_tree(trace.spans, result.trace_id)
        for span in trace.spans:
            expect(f"status of {span.name}", span.status, "ok")
            expect_match(f"endedAt of {span.name}", span.ended_at, TIME)
            assert isinstance(span.duration_ms, int), f"durationMs of {span.name}: expected a number"
        expect("number of model calls", len([span for span in trace.spans if span.kind == "model"]), 2)
        for name in ("writer", "editor"):
            assert any(name in (span.name, *span.attributes.values()) for span in trace.spans), f"expected a span for {name}"


async def get_failed(side: Side) -> None:
    """get of a failed run names the error"""
    run = await side.client.agents.start(agent_id="failing")
    await side.wait_status(run.id, "failed")
    trace = await side.client.traces.get(run.id)
    expect("status", trace.summary.status, "error")
    errors = [span.error for span in trace.spans if span.status == "error"]
    assert errors, "expected a span with the status error"
    expect_words("errors of the spans", " ".join(error or "" for error in errors), "this model refuses")


async def get_running(side: Side) -> None:
    """get of a running run has what there is"""
    run = await side.client.agents.start(agent_id="slow")

    async def has_model_call() -> Any:
        trace = await side.client.traces.get(run.id)
        return trace if any(span.kind == "model" for span in trace.spans) else None

    trace = await wait_until("a span of the model call", has_model_call)
    expect("status", trace.summary.status, "running")
    expect("endedAt", trace.summary.ended_at, None)
    assert any(span.status == "running" and span.ended_at is None for span in trace.spans), "expected a running span"
    await side.client.runs.cancel(run.id)
    await side.wait_status(run.id, "cancelled")
    trace = await side.client.traces.get(run.id)
    expect("status of a cancelled run", trace.summary.status, "cancelled")


async def get_tools(side: Side) -> None:
    """get has a span for each call of a tool"""
    result = await side.client.agents.run(agent_id="selection", client_tools={"get_selection": lambda _, __: "text"})
    trace = await side.client.traces.get(result.trace_id)
    expect("number of spans of tools", len([span for span in trace.spans if span.kind == "tool"]), 2)
    expect("number of spans of models", len([span for span in trace.spans if span.kind == "model"]), 2)


async def live(side: Side) -> None:
    """the stream of a running run has spans as they start and end"""
    run = await side.client.agents.start(agent_id="stepwise")
    events, times = [], []
    async for event in side.client.traces.stream(run.id):
        events.append(event)
        times.append(time.monotonic())
    expect("last event", events[-1].type, "trace-done")
    expect("types of the other events", {event.type for event in events[:-1]}, {"span-start", "span-end"})
    assert times[-1] - times[0] > 0.8, f"expected events while the run goes on, got all within {times[-1] - times[0]:.2f} s"
    open_spans: set[str] = set()
    started: set[str] = set()
    for event in events[:-1]:
        if event.type == "span-start":
            assert event.span["spanId"] not in started, f"span-start: expected a new span, got {event!r}"
            started.add(event.span["spanId"])
            open_spans.add(event.span["spanId"])
        else:
            assert event.span_id in open_spans, f"span-end: expected a span that has started, got {event!r}"
            open_spans.remove(event.span_id)
            expect("status in span-end", event.patch["status"], "ok")
            assert event.patch.get("endedAt"), f"span-end: expected endedAt, got {event!r}"
    expect("spans without an end", open_spans, set())
    summary = events[-1].summary
    expect("status of trace-done", summary["status"], "ok")
    expect("spanCount of trace-done", summary["spanCount"], len(started))
    trace = await side.client.traces.get(run.id)
    expect("spans of get", {span.span_id for span in trace.spans}, started)


async def ended(side: Side) -> None:
    """the stream of a run that has ended is one snapshot"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    events = [event async for event in side.client.traces.stream(result.trace_id)]
    expect("events", [event.type for event in events], ["snapshot"])
    trace = await side.client.traces.get(result.trace_id)
    expect("summary", events[0].summary, trace.summary.model_dump(by_alias=True, exclude_unset=True))
    expect("spans", [span["spanId"] for span in events[0].spans], [span.span_id for span in trace.spans])


async def left_trace(side: Side) -> None:
    """a client that leaves the stream ends nothing"""
    run = await side.client.agents.start(agent_id="stepwise")
    stream = side.client.traces.stream(run.id)
    await anext(stream)
    await stream.aclose()
    await side.wait_status(run.id, "completed")


async def trace_list(side: Side) -> None:
    """list has the filters and pages of the list of runs"""
    runs = await make_runs(side, 5)
    wish = {"agent_id": "panel", "started_after": iso(runs[0].started_at)}
    whole = [row.trace_id for row in (await side.client.traces.list(**wish, limit=200)).rows]
    expect("traces of the runs, the newest first", whole, [run.id for run in reversed(runs)])
    found, cursor, number = [], None, 0
    while number == 0 or cursor is not None:
        page = await side.client.traces.list(**wish, limit=2, cursor=cursor)
        found += [row.trace_id for row in page.rows]
        cursor, number = page.cursor, number + 1
        assert number <= 5, "expected an end"
    expect("pages of 2 together", found, whole)
    at = iso(runs[2].started_at)
    page = await side.client.traces.list(agent_id="panel", started_after=at, started_before=at)
    expect("traces at the time of one", [row.trace_id for row in page.rows], [runs[2].id])
    row = page.rows[0]
    expect("status", row.status, "ok")
    expect("agentId", row.agent_id, "panel")
    trace = await side.client.traces.get(row.trace_id)
    expect("summary of get", trace.summary, row)
    for wrong in ("limit=0", "limit=x", "cursor=x", "startedAfter=yesterday"):
        await side.refused_raw(wrong, "GET", f"/traces?{wrong}", 400)


async def by_status(side: Side) -> None:
    """list by status: ok, error, running, cancelled"""
    slow = await side.client.agents.start(agent_id="slow")
    failed = await side.client.agents.start(agent_id="failing")
    await side.wait_status(failed.id, "failed")
    done = await side.client.agents.run(agent_id="greeter", input="hi")
    for status, trace_id in {"ok": done.trace_id, "error": failed.id, "running": slow.id}.items():
        page = await side.client.traces.list(status=status, limit=200)
        expect(f"statuses for {status}", {row.status for row in page.rows}, {status})
        assert trace_id in [row.trace_id for row in page.rows], f"{status}: expected the trace {trace_id}"
    await side.client.runs.cancel(slow.id)
    await side.wait_status(slow.id, "cancelled")
    page = await side.client.traces.list(status="cancelled", limit=200)
    assert slow.id in [row.trace_id for row in page.rows], "cancelled: expected the trace"
    expect("rows of an unknown status", (await side.client.traces.list(status="nonsense")).rows, [])


async def delete(side: Side) -> None:
    """delete is 204, and then there is no trace"""
    result = await side.client.agents.run(agent_id="greeter", input="hi")
    expect("answer", await side.admin.traces.delete(result.trace_id), None)
    expect("status of the answer", side.last.status_code, 204)
    expect("body of the answer", side.last.content, b"")
    await side.refused("get", side.client.traces.get(result.trace_id), 404)
    await side.refused("another delete", side.admin.traces.delete(result.trace_id), 404)
    await side.refused("delete of an unknown trace", side.admin.traces.delete("no-such-trace"), 404)
    running = await side.client.agents.start(agent_id="slow")
    await asyncio.sleep(0.2)
    await side.refused("delete of a running run", side.admin.traces.delete(running.id), 409)
    await side.client.runs.cancel(running.id)


CHECKS = [
    get,
    get_failed,
    get_running,
    get_tools,
    live,
    ended,
    left_trace,
    trace_list,
    by_status,
    delete,
]
