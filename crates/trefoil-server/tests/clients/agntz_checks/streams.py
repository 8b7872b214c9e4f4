"""Streams: of a run while it is made, and of the feed of a run, live, from a number on, and of a run that has ended."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from checks import ARTICLE, GREETING, expect, expect_match, expect_words

from .runs import WAITING
from .side import Side

TERMINAL = ("run-complete", "run-error", "run-cancelled")
FEED_EVENTS = (
    "run-spawn",
    "text-delta",
    "tool-call-start",
    "tool-call-end",
    "step-complete",
    "draining",
    "reply",
    "run-complete",
    "run-error",
    "run-cancelled",
)


async def stream(side: Side) -> None:
    """stream of a run starts with `start` and ends with `complete`"""
    for agent_id, value, kind, output in (
        ("greeter", "hi", "llm", GREETING),
        ("article", {"topic": "otters"}, "sequential", {"topic": "otters", "text": ARTICLE}),
        ("panel", {"question": "why?"}, "parallel", {"optimist": "It will work.", "sceptic": "It may not."}),
    ):
        events = [event async for event in side.client.agents.stream(agent_id=agent_id, input=value)]
        expect(f"events of {agent_id}", [event.type for event in events], ["start", "complete"])
        start, complete = events
        expect(f"agentId of {agent_id}", start.agent_id, agent_id)
        expect(f"kind of {agent_id}", start.kind, kind)
        expect_match(f"runId of {agent_id}", start.run_id, "[A-Za-z0-9_-]+")
        expect(f"retention of {agent_id}", start.retention.mode, "result")
        expect(f"sessionId of {agent_id}", start.session_id, None)
        expect(f"output of {agent_id}", complete.output, output)
        expect(f"sessionId of {agent_id}", complete.session_id, None)
        run = await side.client.runs.get(start.run_id)
        expect(f"status of {agent_id}", run.status, "completed")
    expect("state", complete.state.get("optimist"), "It will work.")


async def stream_of_other_format(side: Side) -> None:
    """stream of a flow of another format has one of the six kinds"""
    events = [event async for event in side.client.agents.stream(agent_id="approval", input="News")]
    expect("first event", (events[0].type, events[0].kind), ("start", "sequential"))
    expect("last event", events[-1].type, "error")
    expect_words("error, which says where to answer", events[-1].error, "Publish this? News", events[0].run_id)
    await asyncio.sleep(0.5)
    expect("status of a run that waits", (await side.client.runs.get(events[0].run_id)).status, "running")
    await side.client.runs.cancel(events[0].run_id)
    await side.wait_status(events[0].run_id, "cancelled")


async def stream_of_failing(side: Side) -> None:
    """stream of a failing run ends with `error`"""
    events = [event async for event in side.client.agents.stream(agent_id="failing", input="hi")]
    expect("events", [event.type for event in events], ["start", "error"])
    expect_words("error", events[-1].error, "this model refuses")
    await side.wait_status(events[0].run_id, "failed")


async def frames_of_stream(side: Side) -> None:
    """the frames of a run stream are as documented"""
    async with side.frames("POST", "/run/stream", json={"agentId": "article", "input": {"topic": "otters"}}) as frames:
        found = [frame async for frame in frames]
    expect("first event", found[0].event, "run-start")
    expect("last event", found[-1].event, "run-complete")
    expect("number of run-start and run-complete", [f.event for f in found].count("run-complete"), 1)
    result = found[-1].json()
    expect("runId of both", result["runId"], found[0].json()["runId"])
    expect("status", result["status"], "completed")
    expect("usage", result["usage"], {"inputTokens": 30, "outputTokens": 11, "totalTokens": 41})
    expect("state", result["state"]["writer"], "Otters sleep afloat.")
    for frame in found:
        assert isinstance(frame.json(), dict), f"data of {frame.event}: expected an object, got {frame.data!r}"
    async with side.frames("POST", "/run/stream", json={"agentId": "failing"}) as frames:
        last = [frame async for frame in frames][-1]
    expect("last event of a failing run", last.event, "run-error")
    expect("code of run-error", last.json().get("code"), "MODEL_ERROR")


async def left_stream(side: Side) -> None:
    """a run whose stream is closed is cancelled"""
    events = side.client.agents.stream(agent_id="slow", input="hi")
    start = await anext(events)
    expect("status", (await side.client.runs.get(start.run_id)).status, "running")
    await events.aclose()
    await side.wait_status(start.run_id, "cancelled", 15)


async def cancelled_stream(side: Side) -> None:
    """a stream of a run that somebody cancels ends with `Run cancelled`"""
    events = side.client.agents.stream(agent_id="slow", input="hi")
    start = await anext(events)
    await side.connect_with(side.key).runs.cancel(start.run_id)
    last = await asyncio.wait_for(anext(events), 15)
    expect("last event", (last.type, last.error), ("error", "Run cancelled"))


def check_feed(what: str, events: list[Any], run_id: str, first: int = 1) -> None:
    """The events of a feed: numbered without a gap, of known types, the last one ends the run."""
    expect(f"numbers of {what}", [event.seq for event in events], list(range(first, first + len(events))))
    for event in events:
        assert event.type in FEED_EVENTS, f"{what}: expected a documented type, got {event.type}"
        assert event.run_id, f"{what}: expected a runId, got {event!r}"
    ends = [event.seq for event in events if event.type in TERMINAL and event.run_id == run_id]
    expect(f"number of the event that ends {what}", ends, [events[-1].seq])


def plain(event: Any) -> dict[str, Any]:
    return event.model_dump(by_alias=True, exclude_none=True)


async def read_feed(side: Side, run_id: str, since: int | None = None) -> list[Any]:
    return [event async for event in side.client.runs.stream(run_id=run_id, since=since)]


async def feed_of_ended(side: Side) -> None:
    """the feed of an ended run has all events again"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    events = await read_feed(side, result.run_id)
    check_feed("the feed", events, result.run_id)
    spawned = {event.agent_id: event for event in events if event.type == "run-spawn" and event.agent_id != "article"}
    expect("agents that run-spawn names", sorted(spawned), ["editor", "writer"])
    for agent_id, text in {"writer": "Otters sleep afloat.", "editor": ARTICLE}.items():
        child = spawned[agent_id].run_id
        assert child != result.run_id, f"runId of {agent_id}: expected that of a child"
        expect(f"parentId of {agent_id}", getattr(spawned[agent_id], "parentId", None), result.run_id)
        deltas = [event.text for event in events if event.type == "text-delta" and event.run_id == child]
        expect(f"text-delta events of {agent_id} together", "".join(deltas), text)
        ends = [event for event in events if event.type == "run-complete" and event.run_id == child]
        expect(f"number of run-complete of {agent_id}", len(ends), 1)
        expect(f"result.output of {agent_id}", ends[0].result["output"], text)
    usage = events[-1].result["usage"]
    expect("usage", (usage["promptTokens"], usage["completionTokens"], usage["totalTokens"]), (30, 11, 41))


async def feed_of_child(side: Side) -> None:
    """the id of a child gives the feed of its root, and its own run"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    events = await read_feed(side, result.run_id)
    [child] = [event.run_id for event in events if event.type == "run-spawn" and event.agent_id == "writer"]
    run = await side.client.runs.get(child)
    expect("rootId", run.root_id, result.run_id)
    expect("parentId", run.parent_id, result.run_id)
    expect("depth", run.depth, 1)
    expect("agentId", run.agent_id, "writer")
    expect("status", run.status, "completed")
    expect("result.output", run.result["output"], "Otters sleep afloat.")
    feed = await read_feed(side, child)
    expect("events up to the end of the child", [plain(event) for event in feed], [plain(e) for e in events[: len(feed)]])
    expect("last event", (feed[-1].type, feed[-1].run_id), ("run-complete", child))


async def feed_since(side: Side) -> None:
    """`since` skips what the client has"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    events = [plain(event) for event in await read_feed(side, result.run_id)]
    for since in (0, 1, len(events) // 2, len(events) - 1):
        later = [plain(event) for event in await read_feed(side, result.run_id, since)]
        expect(f"events since {since}", later, events[since:])
    for since in (len(events), len(events) + 100):
        [snapshot] = await read_feed(side, result.run_id, since)
        expect(f"event since {since}", snapshot.type, "snapshot")
        expect("id of the snapshot", snapshot.run["id"], result.run_id)
        expect("status of the snapshot", snapshot.run["status"], "completed")
    for wrong in ("x", "-1", "1.5", ""):
        path = f"/runs/{result.run_id}/stream?since={wrong}"
        await side.refused_raw(f"since={wrong!r}", "GET", path, 400)


async def last_event_id(side: Side) -> None:
    """`Last-Event-ID` works like `since`"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    path = f"/runs/{result.run_id}/stream"
    async with side.frames("GET", path) as frames:
        found = [frame async for frame in frames]
    for frame in found:
        expect("id and seq", frame.id, str(frame.json()["seq"]))
        expect("event and type", frame.event, frame.json()["type"])
    async with side.frames("GET", path, headers={"Last-Event-ID": "3"}) as frames:
        later = [frame async for frame in frames]
    expect("ids after 3", [frame.id for frame in later], [frame.id for frame in found[3:]])


async def feed_live(side: Side) -> None:
    """the feed of a running run arrives while it runs"""
    run = await side.client.agents.start(agent_id="stepwise", input="hi")
    events, times = [], []
    async for event in side.client.runs.stream(run_id=run.id):
        events.append(event)
        times.append(time.monotonic())
    check_feed("the live feed", events, run.id)
    first = next(at for event, at in zip(events, times, strict=True) if event.type == "text-delta")
    assert times[-1] - first > 0.8, f"expected the first text 1.2 s before the end, got {times[-1] - first:.2f} s"
    again = await read_feed(side, run.id)
    expect("events after the end", [plain(event) for event in again], [plain(event) for event in events])


async def feed_joined(side: Side) -> None:
    """several clients see the same, and a client that leaves ends nothing"""
    run = await side.client.agents.start(agent_id="stepwise", input="hi")
    leaving = side.client.runs.stream(run_id=run.id)
    await anext(leaving)
    await leaving.aclose()
    await asyncio.sleep(0.8)
    whole, since_two, another = await asyncio.gather(
        read_feed(side, run.id), read_feed(side, run.id, 2), read_feed(side, run.id)
    )
    check_feed("the feed", whole, run.id)
    expect("events of another client", [plain(event) for event in another], [plain(event) for event in whole])
    expect("events since 2", [plain(event) for event in since_two], [plain(event) for event in whole[2:]])
    await side.wait_status(run.id, "completed")


async def feed_of_failing(side: Side) -> None:
    """the feed of a run that fails, or is cancelled, says so"""
    run = await side.client.agents.start(agent_id="failing", input="hi")
    events = await read_feed(side, run.id)
    check_feed("the feed", events, run.id)
    expect("last event", events[-1].type, "run-error")
    expect_words("error", events[-1].error, "this model refuses")
    run = await side.client.agents.start(agent_id="slow", input="hi")
    feed = side.client.runs.stream(run_id=run.id)
    first = await anext(feed)
    await side.connect_with(side.key).runs.cancel(run.id)
    events = [first] + [event async for event in feed]
    check_feed("the feed of a cancelled run", events, run.id)
    expect("last event of a cancelled run", events[-1].type, "run-cancelled")


async def feed_of_waiting(side: Side) -> None:
    """the feed of a run that waits for a person stays open"""
    body = await side.refused("run of `approval`", side.client.agents.run(agent_id="approval", input="x"), WAITING)
    reading = asyncio.create_task(read_feed(side, body["runId"]))
    await asyncio.sleep(1.0)
    assert not reading.done(), "expected that the feed goes on while the run waits"
    await side.connect_with(side.key).runs.cancel(body["runId"])
    events = await asyncio.wait_for(reading, 15)
    expect("last event", events[-1].type, "run-cancelled")


CHECKS = [
    stream,
    stream_of_other_format,
    stream_of_failing,
    frames_of_stream,
    left_stream,
    cancelled_stream,
    feed_of_ended,
    feed_of_child,
    feed_since,
    last_event_id,
    feed_live,
    feed_joined,
    feed_of_failing,
    feed_of_waiting,
]
