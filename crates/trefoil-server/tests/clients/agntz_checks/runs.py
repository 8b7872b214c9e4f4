"""Runs: at once, failing, started and polled, cancelled, left by their client; references and retention."""

from __future__ import annotations

import asyncio
import json

import httpx
from agntz.client import RetentionRequest
from checks import ARTICLE, GREETING, expect, expect_match, expect_words, raised_async, wait_until

from .side import ENDED, Side

# The status of `POST /run` when the run itself fails, by the code of the failure: not the caller's mistake, nor ours.
FAILED_AT_MODEL = 502
# The status of `POST /run` when somebody else cancels the run, or when the run waits for a person.
CANCELLED = 409
WAITING = 409


async def run(side: Side) -> None:
    """run returns output, usage, ids"""
    result = await side.client.agents.run(agent_id="greeter", input="hi")
    expect("output", result.output, GREETING)
    expect("status", result.status, "completed")
    expect_match("runId", result.run_id, "[A-Za-z0-9_-]+")
    assert result.trace_id, "traceId: expected one"
    expect_match("traceId", result.trace_id, "[A-Za-z0-9_-]+")
    assert result.model, "model: expected the model, or `manifest`"
    expect("inputTokens", result.usage.input_tokens, 12)
    expect("outputTokens", result.usage.output_tokens, 5)
    expect("totalTokens", result.usage.total_tokens, 17)
    expect("sessionId", result.session_id, None)
    assert result.retention is not None, "retention: expected `{mode: result}`, got none"
    expect("retention.mode", result.retention.mode, "result")
    assert not result.warnings, f"warnings: expected none, got {result.warnings}"


async def run_pipeline(side: Side) -> None:
    """run of a pipeline returns its real state and totals"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    expect("output", result.output, {"topic": "otters", "text": ARTICLE})
    expect("state", result.state, {"topic": "otters", "writer": "Otters sleep afloat.", "editor": ARTICLE})
    expect("inputTokens", result.usage.input_tokens, 30)
    expect("outputTokens", result.usage.output_tokens, 11)
    expect("totalTokens", result.usage.total_tokens, 41)


async def run_structured(side: Side) -> None:
    """run returns structured answers and parallel branches as objects"""
    graded = await side.client.agents.run(agent_id="grader", input={"essay": "On otters.", "points": 3})
    expect("output of grader", graded.output, {"grade": "B", "passed": True})
    panel = await side.client.agents.run(agent_id="panel", input={"question": "why?"})
    expect("output of panel", panel.output, {"optimist": "It will work.", "sceptic": "It may not."})


async def without_input(side: Side) -> None:
    """run needs no input if the flow reads none"""
    result = await side.client.agents.run(agent_id="stepwise")
    expect("output", result.output, {"letters": "a b c"})


async def failing(side: Side) -> None:
    """a failing run answers with code, run and place"""
    body = await side.refused(
        "run of `failing`", side.client.agents.run(agent_id="failing", input="hi"), FAILED_AT_MODEL, "MODEL_ERROR"
    )
    expect_words("error", body["error"], "this model refuses")
    location = body.get("location") or {}
    expect_match("location.file", location.get("file"), r"(.*/)?failing\.yaml")
    assert isinstance(location.get("line"), int), f"location.line: expected a number, got {location!r}"
    assert isinstance(location.get("column"), int), f"location.column: expected a number, got {location!r}"
    assert not location["file"].startswith("/"), f"location.file: expected a path inside the folder, got {location!r}"
    run = await side.client.runs.get(body["runId"])
    expect("status", run.status, "failed")
    expect_words("error of the run", run.error, "this model refuses")
    expect("result of the run", run.result, None)


async def wrong_input(side: Side) -> None:
    """wrong input is 400 INPUT_INVALID with every fault, and no run"""
    before = await side.newest_run("grader")
    cases = {
        "a wrong type and one missing": ({"essay": 5}, ["essay", "points"]),
        "two wrong values": ({"essay": "", "points": 11}, ["essay", "points"]),
        "an unknown property": ({"essay": "x", "points": 1, "pionts": 2}, ["pionts"]),
        "text": ("On otters.", []),
        "a list": ([1, 2], []),
    }
    for what, (wrong, names) in cases.items():
        body = await side.refused(
            f"run with {what}", side.client.agents.run(agent_id="grader", input=wrong), 400, "INPUT_INVALID"
        )
        details = body.get("details")
        assert isinstance(details, list) and details, f"{what}: expected `details` with the faults, got {body!r}"
        for name in names:
            expect_words(f"details of {what}", json.dumps(details), name)
        await side.refused(
            f"start with {what}", side.client.agents.start(agent_id="grader", input=wrong), 400, "INPUT_INVALID"
        )
        stream = side.client.agents.stream(agent_id="grader", input=wrong)
        await side.refused_stream(f"stream with {what}", anext(stream), 400, "INPUT_INVALID")
    after = await side.newest_run("grader")
    expect("newest run of `grader`", after, before)


async def refused_manifest(side: Side) -> None:
    """a manifest that cannot run is 422 with its place"""
    agents = side.client.agents
    body = await side.refused("run of `picture`", agents.run(agent_id="picture", input="hi"), 422)
    expect_words("error", body["error"], "image")
    location = body.get("location") or {}
    expect_match("location.file", location.get("file"), r"(.*/)?picture\.yaml")
    expect("location.line", location.get("line"), 3)
    await side.refused("start of `picture`", agents.start(agent_id="picture", input="hi"), 422)
    await side.refused_stream("stream of `picture`", anext(agents.stream(agent_id="picture", input="hi")), 422)


async def start_and_poll(side: Side) -> None:
    """start returns a running run, get follows it to its end"""
    for resource in (side.client.agents, side.client.runs):
        run = await resource.start(agent_id="stepwise", input="hi")
        expect("status of the answer to start", side.last.status_code, 201)
        expect("Location", side.last.headers.get("location"), f"/runs/{run.id}")
        expect_match("id", run.id, "[A-Za-z0-9_-]+")
        expect("status", run.status, "running")
        expect("agentId", run.agent_id, "stepwise")
        expect("rootId", run.root_id, run.id)
        expect("depth", run.depth, 0)
        expect("parentId", run.parent_id, None)
        expect("input", run.input, "hi")
        expect("endedAt", run.ended_at, None)
        expect("result", run.result, None)
        expect("status soon after", (await side.client.runs.get(run.id)).status, "running")
    ended = await side.wait_status(run.id, "completed")
    expect("startedAt", ended.started_at, run.started_at)
    assert ended.ended_at - ended.started_at >= 1500, f"endedAt: expected 1.8 s after startedAt, got {ended!r}"
    result = ended.result
    expect("result.output, which is text", json.loads(result["output"]), {"letters": "a b c"})
    assert result["invocationId"], "result.invocationId: expected one"
    assert isinstance(result["duration"], int), f"result.duration: expected milliseconds, got {result!r}"
    assert result["model"], f"result.model: expected one, got {result!r}"
    expect("result.toolCalls", result["toolCalls"], [])
    expect("result.sessionId, the id of the run", result["sessionId"], run.id)


async def usage_of_run(side: Side) -> None:
    """get shows input as text and the usage of the whole run"""
    result = await side.client.agents.run(agent_id="article", input={"topic": "otters"})
    run = await side.client.runs.get(result.run_id)
    expect("input, objects as JSON", json.loads(run.input), {"topic": "otters"})
    usage = run.result["usage"]
    found = {name: usage.get(name) for name in ("promptTokens", "completionTokens", "totalTokens")}
    expect("result.usage", found, {"promptTokens": 30, "completionTokens": 11, "totalTokens": 41})
    greeted = await side.client.agents.run(agent_id="greeter", input="hi")
    run = await side.client.runs.get(greeted.run_id)
    expect("input, which is text", run.input, "hi")
    expect("result.output, which is text", run.result["output"], GREETING)


async def cancel(side: Side) -> None:
    """cancel ends a run, and may be repeated"""
    run = await side.client.agents.start(agent_id="slow", input="hi")
    answer = await side.client.runs.cancel(run.id)
    expect("status of the answer", side.last.status_code, 200)
    expect("id", answer.id, run.id)
    assert answer.status in ("running", "cancelled"), f"status: expected running or cancelled, got {answer.status}"
    ended = await side.wait_status(run.id, "cancelled")
    assert ended.ended_at - run.started_at < 30_000, "expected that the model call of a minute is not waited for"
    again = await side.client.runs.cancel(run.id)
    expect("status after another cancel", again.status, "cancelled")
    expect("endedAt after another cancel", again.ended_at, ended.ended_at)


async def cancel_ended(side: Side) -> None:
    """cancel of a run that has ended changes nothing"""
    result = await side.client.agents.run(agent_id="greeter", input="hi")
    answer = await side.client.runs.cancel(result.run_id)
    expect("status", answer.status, "completed")
    body = await side.refused(
        "run of `failing`", side.client.agents.run(agent_id="failing"), FAILED_AT_MODEL, "MODEL_ERROR"
    )
    expect("status", (await side.client.runs.cancel(body["runId"])).status, "failed")


async def running_run(side: Side, agent_id: str, known: set[str]) -> str:
    """The id of a run of this flow that goes on and is not known yet."""

    async def find() -> str | None:
        page = await side.client.runs.list(agent_id=agent_id, status="running", limit=50)
        fresh = [row.id for row in page.rows if row.id not in known]
        return fresh[0] if fresh else None

    return await wait_until(f"a running run of `{agent_id}`", find)


async def known_runs(side: Side, agent_id: str) -> set[str]:
    page = await side.client.runs.list(agent_id=agent_id, limit=200)
    return {row.id for row in page.rows}


async def cancelled_elsewhere(side: Side) -> None:
    """run answers at once when somebody cancels it"""
    known = await known_runs(side, "slow")
    waiting = asyncio.create_task(side.refused("run of `slow`", side.client.agents.run(agent_id="slow"), CANCELLED))
    run_id = await running_run(side, "slow", known)
    await side.connect_with(side.key).runs.cancel(run_id)
    body = await asyncio.wait_for(waiting, 10)
    expect_words("error", body["error"], "cancelled")


async def left_run(side: Side) -> None:
    """a run whose client has gone is cancelled"""
    known = await known_runs(side, "slow")
    hasty = side.connect_with(side.key, timeout=1.0)
    await raised_async("run of `slow` with a timeout of 1 s", httpx.TimeoutException, hasty.agents.run(agent_id="slow"))

    async def ended() -> str | None:
        page = await side.client.runs.list(agent_id="slow", limit=50)
        fresh = [row for row in page.rows if row.id not in known]
        return fresh[0].status if fresh and fresh[0].status in ENDED else None

    expect("status of the run", await wait_until("the end of the run", ended), "cancelled")


async def references(side: Side) -> None:
    """an agent may be named with a version"""
    for reference, version in {
        "greeter@latest": "latest",
        "greeter@2026-01-02T03:04:05.000Z": "2026-01-02T03:04:05.000Z",
        "greeter@prod": "prod",
    }.items():
        result = await side.client.agents.run(agent_id=reference, input="hi")
        expect(f"output of {reference}", result.output, GREETING)
        expect(f"requestedAgentVersion of {reference}", result.requested_agent_version, version)
        run = await side.client.runs.get(result.run_id)
        expect(f"agentId of {reference}", run.agent_id, "greeter")
    run = await side.client.agents.start(agent_id="greeter@latest", input="hi")
    expect("agentId", run.agent_id, "greeter")
    for wrong in ("greeter@", "@latest", "greeter@a@b", "greeter@ prod", "greeter@-x"):
        await side.refused(f"run of {wrong!r}", side.client.agents.run(agent_id=wrong), 400, "INVALID_AGENT_REF")
    await side.refused("run of an unknown agent with a version", side.client.agents.run(agent_id="nobody@latest"), 404)


async def retention(side: Side) -> None:
    """retention `result` is obeyed, wrong ones are 400"""
    for wish in (RetentionRequest(mode="result"), {"mode": "result"}):
        result = await side.client.agents.run(agent_id="greeter", input="hi", retention=wish)
        expect("retention.mode", result.retention.mode, "result")
    for wrong in ({"mode": "for ever"}, {"mode": "result", "ttlSeconds": 5}, {"mode": "result", "ttlSeconds": "x"}):
        body = await side.refused(f"run with {wrong}", side.client.agents.run(agent_id="greeter", retention=wrong), 400)
        expect_words(f"error for {wrong}", body["error"], "retention")
    await side.refused(
        "start without retention", side.client.agents.start(agent_id="greeter", retention={"mode": "none"}), 400
    )


async def waiting(side: Side) -> None:
    """a run that waits for a person says so and stays open"""
    body = await side.refused(
        "run of `approval`", side.client.agents.run(agent_id="approval", input="News"), WAITING, "WAITING_FOR_PERSON"
    )
    run_id = body["runId"]
    expect_words("error, which says what is asked and where to answer", body["error"], "Publish this? News", run_id)
    await asyncio.sleep(0.5)
    run = await side.client.runs.get(run_id)
    expect("status of a run that waits", run.status, "running")
    started = await side.client.agents.start(agent_id="approval", input="News")
    await asyncio.sleep(0.5)
    expect("status of a started run that waits", (await side.client.runs.get(started.id)).status, "running")
    for waiting_id in (run_id, started.id):
        await side.client.runs.cancel(waiting_id)
        await side.wait_status(waiting_id, "cancelled")


async def together(side: Side) -> None:
    """twenty runs at once each get their own answer"""
    runs = [side.client.agents.run(agent_id="echo", input={"number": number}) for number in range(20)]
    results = await asyncio.gather(*runs)
    expect("outputs", [result.output["echo"]["number"] for result in results], list(range(20)))
    expect("number of run ids", len({result.run_id for result in results}), 20)


CHECKS = [
    run,
    run_pipeline,
    run_structured,
    without_input,
    failing,
    wrong_input,
    refused_manifest,
    start_and_poll,
    usage_of_run,
    cancel,
    cancel_ended,
    cancelled_elsewhere,
    left_run,
    references,
    retention,
    waiting,
    together,
]
