"""Sessions, of which there are none: lists are empty, deletion succeeds, import is not implemented."""

from __future__ import annotations

from checks import expect

from .side import Side


async def session_list(side: Side) -> None:
    """list is empty"""
    await side.client.agents.run(agent_id="greeter", input="hi")
    expect("sessions", await side.client.sessions.list(), [])
    expect("form of the answer", side.last.json(), {"sessions": []})
    expect("sessions of an agent", await side.client.sessions.list(agent_id="greeter"), [])


async def session_get(side: Side) -> None:
    """get of any id has no messages"""
    for session_id in ("ses_unknown", "a/b c@d", "ü\u2028"):
        found = await side.client.sessions.get(session_id)
        expect("session", found, {"sessionId": session_id, "messages": []})
        expect("messages", await side.client.sessions.get_messages(session_id), [])


async def session_delete(side: Side) -> None:
    """delete is 204, and may be repeated"""
    for _ in range(2):
        expect("answer", await side.client.sessions.delete("ses_unknown"), None)
        expect("status", side.last.status_code, 204)
        expect("body", side.last.content, b"")


async def session_of_run(side: Side) -> None:
    """the id of a run names no session, so its deletion removes no run"""
    result = await side.client.agents.run(agent_id="greeter", input="hi")
    await side.client.sessions.delete(result.run_id)
    expect("status of the run", (await side.client.runs.get(result.run_id)).status, "completed")


async def session_import(side: Side) -> None:
    """import is 501"""
    sessions = [{"sessionId": "ses_1", "messages": [{"role": "user", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}]}]
    for client in (side.client, side.admin):
        for dry_run in (None, True):
            request = client.sessions.import_(sessions=sessions, dry_run=dry_run)
            await side.refused("import", request, 501, "NOT_IMPLEMENTED")


CHECKS = [session_list, session_get, session_delete, session_of_run, session_import]
