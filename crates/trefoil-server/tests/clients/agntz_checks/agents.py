"""The list of agents, and agents that arrive over the API."""

from __future__ import annotations

from checks import FLOWS, GREETING, expect, expect_words

from .side import Side

MANIFEST = """\
id: {id}
kind: llm
description: {description}
model: {{ provider: openai, name: gpt-5.4 }}
instruction: Answer.
"""


def manifest(agent_id: str, description: str = "Arrived over the API") -> str:
    return MANIFEST.format(id=agent_id, description=description)


async def agent_list(side: Side) -> None:
    """list has every flow of the folder"""
    entries = await side.client.agents.list()
    assert isinstance(entries, list), f"expected a list, got {entries!r}"
    found = {entry["id"]: entry for entry in entries}
    expected = {path.stem for path in FLOWS.glob("*.yaml")}
    expect("flows that are missing", sorted(expected - set(found)), [])
    expect("number of entries with one id", len(found), len(entries))
    for entry in entries:
        assert isinstance(entry.get("name"), str) and entry["name"], f"name: expected one, got {entry!r}"
    expect("description", found["greeter"].get("description"), "Says good morning")
    expect("description of another format", found["approval"].get("description"), "Publishes a text if a person says yes")


async def agent_get(side: Side) -> None:
    """get has the manifest as it is in the file"""
    for agent_id in ("greeter", "article", "grader", "picture", "approval"):
        agent = await side.client.agents.get(agent_id)
        expect("id", agent.id, agent_id)
        assert agent.name, f"name of {agent_id}: expected one"
        text = (FLOWS / f"{agent_id}.yaml").read_text()
        expect(f"manifest of {agent_id}", agent.metadata["manifest"], text)
    agent = await side.client.agents.get("greeter")
    expect("model", (agent.model.provider, agent.model.name), ("openai", "gpt-5.4"))
    expect("systemPrompt", agent.system_prompt, "Greet the person in one sentence.")
    expect("description", agent.description, "Says good morning")


async def get_with_version(side: Side) -> None:
    """get of an id with a version is 400"""
    for wrong in ("greeter@latest", "greeter@2026-01-02T03:04:05.000Z", "nobody@latest"):
        await side.refused(f"get of {wrong}", side.client.agents.get(wrong), 400)


async def dry_import(side: Side) -> None:
    """a dry import says what would happen and stores nothing"""
    agent_id = side.new_name("dry")
    answer = await side.admin.agents.import_(
        agents=[{"manifest": manifest(agent_id), "sourcePath": "agents/dry.yaml"}], dry_run=True
    )
    expect("dryRun", answer["dryRun"], True)
    expect("counts", answer["counts"], {"create": 1})
    [result] = answer["results"]
    expect("id", result["id"], agent_id)
    expect("action", result["action"], "create")
    expect("sourcePath", result["sourcePath"], "agents/dry.yaml")
    expect("warnings", result["warnings"], [])
    await side.refused("get after a dry import", side.client.agents.get(agent_id), 404, "AGENT_NOT_FOUND")


async def real_import(side: Side) -> None:
    """an import can be listed, read and run"""
    first, second = side.new_name("import"), side.new_name("import")
    answer = await side.admin.agents.import_(agents=[{"manifest": manifest(first)}, {"manifest": manifest(second)}])
    expect("dryRun", answer["dryRun"], False)
    expect("counts", answer["counts"], {"create": 2})
    expect("ids", [result["id"] for result in answer["results"]], [first, second])
    expect("manifest", (await side.client.agents.get(first)).metadata["manifest"], manifest(first))
    entries = {entry["id"] for entry in await side.client.agents.list()}
    assert {first, second} <= entries, f"list: expected {first} and {second}"
    result = await side.client.agents.run(agent_id=first, input="hi")
    expect("output", result.output, "An answer to everything else.")
    run = await side.client.agents.start(agent_id=f"{second}@latest", input="hi")
    await side.wait_status(run.id, "completed")
    assert not (FLOWS / f"{first}.yaml").exists(), "expected that nothing is written into the folder of flows"


async def import_again(side: Side) -> None:
    """another import makes a version, skips, or fails"""
    agent_id = side.new_name("again")
    text, newer = manifest(agent_id), manifest(agent_id, "A newer one")
    await side.admin.agents.import_(agents=[{"manifest": text}])
    skipped = await side.admin.agents.import_(agents=[{"manifest": newer}], on_conflict="skip")
    expect("counts with skip", skipped["counts"], {"skip": 1})
    expect("manifest after skip", (await side.client.agents.get(agent_id)).metadata["manifest"], text)
    await side.refused(
        "import with fail", side.admin.agents.import_(agents=[{"manifest": newer}], on_conflict="fail"), 409
    )
    expect("manifest after fail", (await side.client.agents.get(agent_id)).metadata["manifest"], text)
    dry = await side.admin.agents.import_(agents=[{"manifest": newer}], dry_run=True)
    expect("counts of a dry import", dry["counts"], {"version": 1})
    expect("manifest after a dry import", (await side.client.agents.get(agent_id)).metadata["manifest"], text)
    versioned = await side.admin.agents.import_(agents=[{"manifest": newer}])
    expect("counts of an import", versioned["counts"], {"version": 1})
    expect("manifest after an import", (await side.client.agents.get(agent_id)).metadata["manifest"], newer)
    await side.refused_raw(
        "another word for onConflict",
        "POST",
        "/agents/import",
        400,
        json={"agents": [{"manifest": newer}], "onConflict": "replace"},
        headers=side.admin_headers,
    )


async def invalid_import(side: Side) -> None:
    """one invalid manifest stores nothing, and all faults are reported"""
    good, bad = side.new_name("good"), side.new_name("bad")
    agents = [
        {"manifest": manifest(good)},
        {"manifest": f"id: {bad}\nkind: llm\nmodel: {{ provider: openai }}\nprompt: '{{{{missing'\n", "sourcePath": "bad.yaml"},
        {"manifest": "kind: [", "id": "broken"},
    ]
    for dry_run in (True, False):
        body = await side.refused("import", side.admin.agents.import_(agents=agents, dry_run=dry_run), 400)
        expect("error", body["error"], "Invalid manifest")
        results = {result.get("sourcePath") or result["id"]: result for result in body["results"]}
        errors = results["bad.yaml"]["errors"]
        assert len(errors) >= 3, f"errors: expected the model's name, the instruction and the placeholder, got {errors}"
        for error in errors:
            assert error.get("message"), f"errors: expected messages, got {errors}"
        assert results["broken"]["errors"], f"errors of the broken one: expected some, got {results}"
    for agent_id in (good, bad):
        await side.refused(f"get of {agent_id}", side.client.agents.get(agent_id), 404)


async def import_without_rights(side: Side) -> None:
    """an import needs the key of an administrator"""
    agents = [{"manifest": manifest(side.new_name("mine"))}]
    for dry_run in (True, False):
        await side.refused("import", side.client.agents.import_(agents=agents, dry_run=dry_run), 403)


async def import_with_rights(side: Side) -> None:
    """an imported manifest reads no environment, no file and no tool, and replaces no file"""
    body = "model: { provider: openai, name: gpt-5.4 }\ninstruction: Answer.\n"
    for what, text in {
        "env": "id: {id}\nkind: llm\n" + body + "prompt: '{{env.HOME}}'\n",
        "a local tool": "id: {id}\nkind: llm\n" + body + "tools:\n  - { kind: local, tools: [shell] }\n",
        "a path as its id": "id: ../../{id}\nkind: llm\n" + body,
    }.items():
        agent_id = side.new_name("wrong")
        text = text.replace("{id}", agent_id)
        refusal = await side.refused(
            f"import of a manifest with {what}", side.admin.agents.import_(agents=[{"manifest": text}]), 400
        )
        assert refusal["results"][0]["errors"], f"errors for {what}: expected some"
        await side.refused(f"get after an import with {what}", side.client.agents.get(agent_id), 404)
    for on_conflict in (None, "version", "skip", "fail"):
        request = side.admin.agents.import_(agents=[{"manifest": manifest("greeter")}], on_conflict=on_conflict)
        await side.refused(f"import with the id of a file and {on_conflict}", request, 409)
    result = await side.client.agents.run(agent_id="greeter", input="hi")
    expect("output of the flow of the file", result.output, GREETING)


async def wrong_imports(side: Side) -> None:
    """an import that is no list of manifests is 400"""
    for wrong in ({}, {"agents": {}}, {"agents": ["x"]}, {"agents": [{"id": "x"}]}, {"agents": [{"manifest": 5}]}):
        await side.refused_raw(f"import of {wrong}", "POST", "/agents/import", 400, json=wrong, headers=side.admin_headers)
    twice = manifest(side.new_name("twice"))
    await side.refused(
        "import of one id twice", side.admin.agents.import_(agents=[{"manifest": twice}, {"manifest": twice}]), 400
    )


async def validate(side: Side) -> None:
    """validate reports all findings of a manifest"""
    response = await side.http.post("/validate", json={"manifest": manifest("fine")})
    expect(f"status ({response.text[:200]})", response.status_code, 200)
    answer = response.json()
    expect("valid", answer["valid"], True)
    expect("errors", answer["errors"], [])
    expect("warnings", answer["warnings"], [])
    response = await side.http.post("/validate", json={"manifest": "id: x\nkind: llm\nmodel: { provider: openai }\n"})
    expect("status for a wrong one", response.status_code, 200)
    answer = response.json()
    expect("valid", answer["valid"], False)
    assert len(answer["errors"]) >= 2, f"errors: expected the model's name and the instruction, got {answer}"
    expect_words("errors", str(answer["errors"]), "name", "instruction")
    for finding in answer["errors"]:
        for name in ("level", "path", "message"):
            assert isinstance(finding.get(name), str), f"errors: expected the text `{name}`, got {finding}"
    warned = (await side.http.post("/validate", json={"manifest": manifest("fine") + "promt: hi\n"})).json()
    expect("valid with a misspelt key", warned["valid"], True)
    expect_words("warnings", str(warned["warnings"]), "promt")
    for wrong in ({}, {"manifest": 5}):
        await side.refused_raw(f"validate {wrong}", "POST", "/validate", 400, json=wrong)


CHECKS = [
    agent_list,
    agent_get,
    get_with_version,
    dry_import,
    real_import,
    import_again,
    invalid_import,
    import_without_rights,
    import_with_rights,
    wrong_imports,
    validate,
]
