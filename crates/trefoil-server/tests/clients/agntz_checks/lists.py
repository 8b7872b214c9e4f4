"""The list of runs: filters, order, pages."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from checks import expect

from .side import Side


def iso(milliseconds: int, zone: timezone = UTC) -> str:
    """A time as ISO 8601 with milliseconds."""
    text = datetime.fromtimestamp(milliseconds / 1000, zone).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


async def make_runs(side: Side, number: int, agent_id: str = "panel") -> list[Any]:
    """Runs of one flow that have ended, the oldest first."""
    runs = []
    for index in range(number):
        run = await side.client.agents.start(agent_id=agent_id, input={"question": f"{index}"})
        runs.append(await side.wait_status(run.id, "completed"))
    return runs


def ids(rows: list[Any]) -> list[str]:
    return [row.id for row in rows]


async def order(side: Side) -> None:
    """newest first, ties by id"""
    runs = await make_runs(side, 5)
    starts = [
        side.client.agents.start(agent_id="panel", input={"question": f"{index}"}) for index in range(8)
    ]
    together = await asyncio.gather(*starts)
    page = await side.client.runs.list(agent_id="panel", limit=200)
    keys = [(row.started_at, row.id) for row in page.rows]
    expect("order by startedAt and id", keys, sorted(keys, reverse=True))
    expect("number of rows with one id", len(set(ids(page.rows))), len(page.rows))
    for run in runs + list(together):
        assert run.id in ids(page.rows), f"expected the run {run.id} in the list"
    newest = {run.id for run in together}
    expect("the newest eight", set(ids(page.rows)[:8]), newest)


async def default_page(side: Side) -> None:
    """without filters, all flows, roots only, at most 50"""
    await side.client.agents.run(agent_id="greeter", input="hi")
    await make_runs(side, 1)
    page = await side.client.runs.list()
    assert 0 < len(page.rows) <= 50, f"expected 1 to 50 rows, got {len(page.rows)}"
    for row in page.rows:
        expect("rootId of a root", row.root_id, row.id)
        expect("depth of a root", row.depth, 0)
    assert len({row.agent_id for row in page.rows}) > 1, "expected runs of several flows"


async def pages(side: Side) -> None:
    """pages end, and have each run once, also if runs are added"""
    runs = await make_runs(side, 7)
    after = iso(runs[0].started_at)
    wish = {"agent_id": "panel", "started_after": after}
    whole = ids((await side.client.runs.list(**wish, limit=200)).rows)
    expect("all at once", set(ids(runs)) <= set(whole), True)
    for limit in (1, 2, 3, len(whole), len(whole) + 1):
        found, cursor, number = [], None, 0
        while number == 0 or cursor is not None:
            page = await side.client.runs.list(**wish, limit=limit, cursor=cursor)
            assert len(page.rows) <= limit, f"limit {limit}: expected no more rows, got {len(page.rows)}"
            found += ids(page.rows)
            cursor, number = page.cursor, number + 1
            assert number <= len(whole) + 1, f"limit {limit}: expected an end"
            assert page.rows, f"limit {limit}: expected no empty page"
            if number == 1 and limit == 2:
                added = await make_runs(side, 1)
        expect(f"pages of {limit} together", found, whole)
        if limit == 2:
            whole = ids(added) + whole


async def by_agent(side: Side) -> None:
    """the filter agentId"""
    await side.client.agents.run(agent_id="greeter", input="hi")
    page = await side.client.runs.list(agent_id="greeter", limit=200)
    expect("agents of the rows", {row.agent_id for row in page.rows}, {"greeter"})
    expect("rows of an unknown agent", (await side.client.runs.list(agent_id="nobody")).rows, [])
    expect("rows of an agent with odd characters", (await side.client.runs.list(agent_id="a&b=c %'\u2028")).rows, [])


async def by_status(side: Side) -> None:
    """the filter status, where `error` is `failed`, and unknown ones match nothing"""
    failed = await side.client.agents.start(agent_id="failing")
    await side.wait_status(failed.id, "failed")
    slow = await side.client.agents.start(agent_id="slow")
    cancelled = await side.client.agents.start(agent_id="slow")
    await side.client.runs.cancel(cancelled.id)
    await side.wait_status(cancelled.id, "cancelled")
    done = await side.client.agents.run(agent_id="greeter", input="hi")
    for wish, status, run_id in (
        ("failed", "failed", failed.id),
        ("error", "failed", failed.id),
        ("cancelled", "cancelled", cancelled.id),
        ("running", "running", slow.id),
        ("completed", "completed", done.run_id),
    ):
        page = await side.client.runs.list(status=wish, limit=200)
        expect(f"statuses of the rows for {wish}", {row.status for row in page.rows}, {status})
        assert run_id in ids(page.rows), f"status {wish}: expected the run {run_id}"
    for wish in ("pending", "draining", "no-such-status", "FAILED"):
        expect(f"rows for {wish}", (await side.client.runs.list(status=wish)).rows, [])
    both = await side.client.runs.list(agent_id="failing", status="completed")
    expect("rows of `failing` that are completed", both.rows, [])
    await side.client.runs.cancel(slow.id)


async def by_time(side: Side) -> None:
    """the filters of time, both inclusive"""
    runs = await make_runs(side, 3)
    [oldest, middle, newest] = runs
    here = {"agent_id": "panel", "limit": 200}
    at = iso(middle.started_at)
    found = ids((await side.client.runs.list(**here, started_after=at, started_before=at)).rows)
    expect("runs at the time of one", found, [middle.id])
    found = ids((await side.client.runs.list(**here, started_after=at)).rows)
    expect("runs from the time of one on", found[-2:], [newest.id, middle.id])
    found = ids((await side.client.runs.list(**here, started_before=at)).rows)
    expect("runs up to the time of one", found[:2], [middle.id, oldest.id])
    found = ids((await side.client.runs.list(**here, started_after=iso(newest.started_at + 1))).rows)
    expect("runs after the newest", found, [])
    zone = timezone(timedelta(hours=5, minutes=30))
    shifted = iso(middle.started_at, zone)
    found = ids((await side.client.runs.list(**here, started_after=shifted, started_before=shifted)).rows)
    expect("runs at the same time in another zone", found, [middle.id])
    for name in ("startedAfter", "startedBefore"):
        for wrong in ("yesterday", "2026-13-01T00:00:00Z", ""):
            await side.refused_raw(f"{name}={wrong!r}", "GET", f"/runs?{name}={wrong}", 400)


async def roots_only(side: Side) -> None:
    """rootsOnly=false has the runs of agents inside, too"""
    run = (await make_runs(side, 1))[0]
    after = iso(run.started_at)
    roots = await side.client.runs.list(roots_only=True, started_after=after, limit=200)
    expect("agents of the roots", [row.agent_id for row in roots.rows], ["panel"])
    page = await side.client.runs.list(roots_only=False, started_after=after, limit=200)
    children = {row.agent_id: row for row in page.rows if row.id != run.id}
    expect("agents of the children", sorted(children), ["optimist", "sceptic"])
    assert run.id in ids(page.rows), "expected the root, too"
    for row in children.values():
        expect("parentId", row.parent_id, run.id)
        expect("rootId", row.root_id, run.id)
        expect("depth", row.depth, 1)
    wish = {"roots_only": False, "started_after": after}
    found, cursor = [], None
    while True:
        page = await side.client.runs.list(**wish, limit=1, cursor=cursor)
        found, cursor = found + ids(page.rows), page.cursor
        if cursor is None:
            break
        assert len(found) < 10, "expected an end of the pages"
    expect("number of rows in pages of one", len(found), 3)
    expect("number of different rows", len(set(found)), 3)


async def wrong_lists(side: Side) -> None:
    """wrong limits, cursors and switches are 400"""
    for wrong in ("0", "-1", "x", "1.5", ""):
        await side.refused_raw(f"limit={wrong!r}", "GET", f"/runs?limit={wrong}", 400)
    for wrong in ("x", "e30", "%00", "a" * 5000):
        await side.refused_raw(f"cursor={wrong[:20]!r}", "GET", f"/runs?cursor={wrong}", 400)
    await side.refused_raw("rootsOnly=maybe", "GET", "/runs?rootsOnly=maybe", 400)
    page = await side.client.runs.list(limit=100_000)
    assert len(page.rows) <= 200, f"expected at most 200 rows, got {len(page.rows)}"


CHECKS = [
    order,
    default_page,
    pages,
    by_agent,
    by_status,
    by_time,
    roots_only,
    wrong_lists,
]
