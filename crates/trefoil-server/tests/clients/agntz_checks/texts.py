"""Inputs of every JSON type and texts that hurt, through answers, streams and lists."""

from __future__ import annotations

import json
from typing import Any

from checks import HURT, expect, expect_words

from .side import Side

INPUTS: dict[str, Any] = {
    "text": "hello",
    "empty text": "",
    "text that reads as a number": "5",
    "text that reads as JSON": '{"a": 1}',
    "true": True,
    "false": False,
    "zero": 0,
    "a whole number": 9_007_199_254_740_993,
    "a fraction": -1.5,
    "a large number": 1e300,
    "an empty list": [],
    "a list": [1, "two", None, [3]],
    "a list of text blocks": [{"type": "text", "text": "x"}],
    "an empty object": {},
    "an object": {"a": {"b": [True, None]}, "ä": "ö", "with space": 1, "": 0},
}


async def json_types(side: Side) -> None:
    """input of every JSON type arrives as it was sent"""
    for what, value in INPUTS.items():
        result = await side.client.agents.run(agent_id="echo", input=value)
        expect(f"echo of {what}", result.output["echo"], value)
    nothing = await side.client.agents.run(agent_id="echo")
    expect("echo without an input", nothing.output["echo"], None)
    response = await side.http.post("/run", json={"agentId": "echo", "input": None})
    expect("echo of null", response.json()["output"]["echo"], None)


async def json_types_of_runs(side: Side) -> None:
    """input of every JSON type is shown as text by get"""
    for what, value in INPUTS.items():
        run = await side.client.agents.start(agent_id="echo", input=value)
        assert isinstance(run.input, str), f"input of {what}: expected text, got {run.input!r}"
        shown = run.input if isinstance(value, str) else json.loads(run.input)
        expect(f"input of {what}", shown, value)
        ended = await side.wait_status(run.id, "completed")
        expect(f"input of {what} at the end", ended.input, run.input)
        expect(f"result.output of {what}", json.loads(ended.result["output"])["echo"], value)


async def hurting_answer(side: Side) -> None:
    """an answer with awkward characters arrives whole, everywhere"""
    result = await side.client.agents.run(agent_id="hurt", input="hi")
    expect("output of run", result.output, HURT)
    run = await side.client.runs.get(result.run_id)
    expect("result.output", run.result["output"], HURT)
    events = [event async for event in side.client.agents.stream(agent_id="hurt", input="hi")]
    expect("last event", events[-1].type, "complete")
    expect("output of stream", events[-1].output, HURT)
    deltas, last = "", None
    async for event in side.client.runs.stream(run_id=result.run_id):
        deltas += event.text or "" if event.type == "text-delta" else ""
        last = event
    expect("last event of the feed", last.type, "run-complete")
    expect("result.output of the feed", last.result["output"], HURT)
    expect("text-delta events together", deltas, HURT)
    await side.client.traces.get(result.trace_id)
    shown = [event async for event in side.client.traces.stream(result.trace_id)]
    expect("last event of the trace", shown[-1].type, "snapshot")


async def hurting_input(side: Side) -> None:
    """input with awkward characters arrives whole, everywhere"""
    value = {"text": HURT, HURT: "as a key", "emoji": "👩‍👩‍👧 \ufeff \u200f", "long": "ä" * 5000}
    result = await side.client.agents.run(agent_id="echo", input=value)
    expect("output of run", result.output["echo"], value)
    events = [event async for event in side.client.agents.stream(agent_id="echo", input=value)]
    expect("output of stream", events[-1].output["echo"], value)
    expect("state of stream", events[-1].state.get("text"), HURT)
    run = await side.client.runs.get(result.run_id)
    expect("input", json.loads(run.input), value)
    page = await side.client.runs.list(agent_id="echo", limit=1)
    expect("input in the list", json.loads(page.rows[0].input), value)
    last_seq = 0
    async for event in side.client.runs.stream(run_id=result.run_id):
        last_seq = event.seq or last_seq
    snapshot = [event async for event in side.client.runs.stream(run_id=result.run_id, since=last_seq)]
    expect("events after the last one", [event.type for event in snapshot], ["snapshot"])
    expect("input in the snapshot", json.loads(snapshot[0].run["input"]), value)


async def surrogates(side: Side) -> None:
    """half of a surrogate pair becomes U+FFFD"""
    content = b'{"agentId": "echo", "input": {"high": "a\\ud800b", "low": "\\udc00", "pair": "\\ud83d\\ude00"}}'
    headers = {"Content-Type": "application/json"}
    response = await side.http.post("/run", content=content, headers=headers)
    expect(f"status ({response.text[:200]})", response.status_code, 200)
    expect("echo", response.json()["output"]["echo"], {"high": "a\ufffdb", "low": "\ufffd", "pair": "😀"})
    async with side.frames("POST", "/run/stream", content=content, headers=headers) as frames:
        last = [frame async for frame in frames][-1]
    expect("echo of the stream", last.json()["output"]["echo"]["high"], "a\ufffdb")


async def large(side: Side) -> None:
    """a text of 1 MB arrives whole"""
    value = "0123456789abcde\n" * 65_536
    result = await side.client.agents.run(agent_id="echo", input=value)
    assert result.output["echo"] == value, f"expected the text back, got {len(result.output['echo'])} characters"
    events = [event async for event in side.client.agents.stream(agent_id="echo", input=value)]
    assert events[-1].output["echo"] == value, "stream: expected the text back"
    run = await side.client.runs.get(result.run_id)
    assert run.input == value, "runs.get: expected the text as the input"
    feed = [event async for event in side.client.runs.stream(run_id=result.run_id)]
    assert json.loads(feed[-1].result["output"])["echo"] == value, "runs.stream: expected the text in the result"


async def empty_answer(side: Side) -> None:
    """an empty answer is an empty text with a warning"""
    result = await side.client.agents.run(agent_id="blank", input="hi")
    expect("output", result.output, "")
    assert result.warnings, "warnings: expected one about the empty answer"
    expect_words("warnings", " ".join(result.warnings), "empty")
    events = [event async for event in side.client.agents.stream(agent_id="blank", input="hi")]
    expect("output of stream", events[-1].output, "")
    run = await side.client.runs.get(result.run_id)
    expect("result.output", run.result["output"], "")


async def text_blocks(side: Side) -> None:
    """content of text blocks is the input"""
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    result = await side.client.agents.run(agent_id="echo", content=blocks)
    expect("echo", result.output["echo"], blocks)
    body = await side.refused("input and content", side.client.agents.run(agent_id="echo", input="x", content=blocks), 400)
    expect_words("error", body["error"], "content", "input")
    for wrong in ([{"type": "text"}], [{"type": "text", "text": 5}], [{"type": "video", "url": "x"}], ["text"], "text", {}):
        request = {"json": {"agentId": "echo", "content": wrong}}
        body = await side.refused_raw(f"content {wrong}", "POST", "/run", 400, **request)
        expect_words(f"error for {wrong}", body["error"], "content")


CHECKS = [
    json_types,
    json_types_of_runs,
    hurting_answer,
    hurting_input,
    surrogates,
    large,
    empty_answer,
    text_blocks,
]
