"""What is not there yet: it is refused by name, and nothing of it is done halfway."""

from __future__ import annotations

from typing import Any

from checks import expect, expect_words

from .side import Side

# The request is right, but this server cannot do it.
NOT_BUILT = 501
CODE = "NOT_IMPLEMENTED"


async def refused_everywhere(side: Side, name: str, named: dict[str, Any]) -> None:
    """run, stream and start must refuse this, name it, and start nothing."""
    before = await side.newest_run("greeter")
    agents = side.client.agents
    body = await side.refused(f"run with {name}", agents.run(agent_id="greeter", **named), NOT_BUILT, CODE)
    expect_words(f"error of run with {name}", body["error"], name)
    body = await side.refused_stream(f"stream with {name}", anext(agents.stream(agent_id="greeter", **named)), NOT_BUILT, CODE)
    expect_words(f"error of stream with {name}", body["error"], name)
    body = await side.refused(f"start with {name}", agents.start(agent_id="greeter", **named), NOT_BUILT, CODE)
    expect_words(f"error of start with {name}", body["error"], name)
    after = await side.newest_run("greeter")
    expect(f"newest run after requests with {name}", after, before)


async def session_id(side: Side) -> None:
    """sessionId is refused by name"""
    await refused_everywhere(side, "sessionId", {"input": "hi", "session_id": "ses_1"})


async def session_retention(side: Side) -> None:
    """retention `session` is refused by name"""
    await refused_everywhere(side, "retention", {"input": "hi", "retention": {"mode": "session"}})


async def content(side: Side) -> None:
    """content that is no text is refused by name"""
    for block in (
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "image", "base64": "aGk=", "mediaType": "image/png"},
        {"type": "audio", "artifactId": "art_1"},
    ):
        await refused_everywhere(side, "content", {"content": [{"type": "text", "text": "what is it?"}, block]})
    await refused_everywhere(side, "content", {"input": [{"type": "image", "url": "https://example.com/a.png"}]})


async def context(side: Side) -> None:
    """context, which grants resources, is refused by name"""
    await refused_everywhere(side, "context", {"input": "hi", "context": ["team/a"]})


async def callback(side: Side) -> None:
    """callbackUrl is refused by name"""
    agents = side.client.agents
    before = await side.newest_run("greeter")
    for named in (
        {"callback_url": "https://example.com/hook", "webhook_secret_name": "hook"},
        {"callback_url": "https://example.com/hook"},
        {"callback_url": "http://127.0.0.1:9/hook", "webhook_secret_name": "hook"},
    ):
        body = await side.refused("start", agents.start(agent_id="greeter", input="hi", **named), NOT_BUILT, CODE)
        expect_words("error", body["error"], "callbackUrl")
    after = await side.newest_run("greeter")
    expect("newest run", after, before)


async def methods(side: Side) -> None:
    """methods of the client for what is not there are 501, never 404"""
    client = side.admin
    calls = {
        "agents.create": lambda: client.agents.create(id="x", name="x"),
        "agents.update": lambda: client.agents.update("greeter", name="x"),
        "agents.list_versions": lambda: client.agents.list_versions("greeter"),
        "agents.get_version": lambda: client.agents.get_version("greeter", "2026-01-01T00:00:00Z"),
        "agents.activate_version": lambda: client.agents.activate_version("greeter", "2026-01-01T00:00:00Z"),
        "agents.set_alias": lambda: client.agents.set_alias("greeter", "prod", "2026-01-01T00:00:00Z"),
        "agents.remove_alias": lambda: client.agents.remove_alias("greeter", "prod"),
        "artifacts.upload": lambda: client.artifacts.upload(file=b"bytes", filename="a.bin"),
        "artifacts.get": lambda: client.artifacts.get("art_1"),
        "artifacts.download": lambda: client.artifacts.download("art_1"),
        "artifacts.delete": lambda: client.artifacts.delete("art_1"),
        "datasets.list": lambda: client.datasets.list(agent_id="greeter"),
        "datasets.create": lambda: client.datasets.create({"id": "d", "name": "d", "items": []}),
        "datasets.get": lambda: client.datasets.get("d"),
        "datasets.update": lambda: client.datasets.update("d", {"name": "d"}),
        "datasets.delete": lambda: client.datasets.delete("d"),
        "datasets.items": lambda: client.datasets.items("d", limit=10),
        "evals.list": lambda: client.evals.list(),
        "evals.create": lambda: client.evals.create({"id": "e", "agentId": "greeter", "name": "e", "criteria": []}),
        "evals.get": lambda: client.evals.get("e"),
        "evals.update": lambda: client.evals.update("e", {"name": "e"}),
        "evals.delete": lambda: client.evals.delete("e"),
        "evals.run": lambda: client.evals.run(eval_id="e"),
        "evals.get_run": lambda: client.evals.get_run("er_1"),
        "evals.list_runs": lambda: client.evals.list_runs(eval_id="e"),
        "evals.cancel_run": lambda: client.evals.cancel_run("er_1"),
        "evals.get_latest_score": lambda: client.evals.get_latest_score(eval_id="e", dataset_id="d"),
        "evals.list_latest_scores": lambda: client.evals.list_latest_scores(),
        "batches.list": lambda: client.batches.list(),
        "batches.create": lambda: client.batches.create("id: b\n"),
        "batches.get": lambda: client.batches.get("b"),
        "batches.update": lambda: client.batches.update("b", "id: b\n"),
        "batches.delete": lambda: client.batches.delete("b"),
        "batches.versions": lambda: client.batches.versions("b"),
        "batches.get_version": lambda: client.batches.get_version("b", "v"),
        "batches.activate_version": lambda: client.batches.activate_version("b", "v"),
        "batches.set_alias": lambda: client.batches.set_alias("b", "prod", "v"),
        "batches.remove_alias": lambda: client.batches.remove_alias("b", "prod"),
        "batches.run": lambda: client.batches.run(batch_id="b"),
        "batches.get_run": lambda: client.batches.get_run("br_1"),
        "batches.list_runs": lambda: client.batches.list_runs(batch_id="b"),
        "batches.cancel": lambda: client.batches.cancel("br_1"),
        "batches.delete_run": lambda: client.batches.delete_run("br_1"),
        "batches.items": lambda: client.batches.items("br_1"),
        "batches.results_jsonl": lambda: client.batches.results_jsonl("br_1"),
        "batches.compare": lambda: client.batches.compare(left="br_1", right="br_2"),
        "memory.scan": lambda: client.memory.scan(["team/a"]),
        "memory.read": lambda: client.memory.read(["team/a"], "topic"),
        "memory.list": lambda: client.memory.list(["team/a"]),
        "memory.delete_entry": lambda: client.memory.delete_entry(["team/a"], "m_1"),
        "memory.correct": lambda: client.memory.correct(["team/a"], "m_1", "text"),
        "memory.curate": lambda: client.memory.curate(["team/a"]),
        "memory.delete_scope": lambda: client.memory.delete_scope(["team/a"], "team/a"),
    }
    wrong = []
    for name, call in calls.items():
        try:
            await side.refused(name, call(), NOT_BUILT, CODE)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, f"{len(wrong)} of {len(calls)}: {'; '.join(wrong)}"
    # Imported flows can be removed; those of files cannot.
    await side.refused("agents.delete", client.agents.delete("greeter"), 409, "FLOW_OF_FILE")


async def routes(side: Side) -> None:
    """routes without a method of the client are 501 with a key, and 401 without"""
    wrong = []
    for method, path in (
        ("POST", "/run/block"),
        ("POST", "/run/block/stream"),
        ("POST", "/build-agent"),
        ("POST", "/edit-agent"),
        ("POST", "/dataset-imports"),
        ("POST", "/dataset-imports/x/items"),
        ("POST", "/dataset-imports/x/complete"),
        ("DELETE", "/dataset-imports/x"),
        ("GET", "/datasets/x/versions"),
        ("PUT", "/datasets/x/aliases/prod"),
        ("POST", "/webhook-secrets"),
        ("GET", "/webhook-secrets"),
        ("POST", "/webhook-secrets/x/regenerate"),
        ("DELETE", "/webhook-secrets/x"),
        ("POST", "/memory/import"),
        ("GET", "/artifact-download/x?owner=o&expires=1&signature=s"),
    ):
        try:
            await side.refused_raw(f"{method} {path}", method, path, NOT_BUILT, CODE, json={})
            if not path.startswith(("/artifact-download", "/build-agent")):
                headers = {"Authorization": "Bearer wrong"}
                await side.refused_raw(f"{method} {path} with a wrong key", method, path, 401, json={}, headers=headers)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "; ".join(wrong)


CHECKS = [session_id, session_retention, content, context, callback, methods, routes]
