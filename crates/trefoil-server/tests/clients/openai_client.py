#!/usr/bin/env python3
"""Tests `/v1/chat/completions` and `/v1/models` with OpenAI's own client as PyPI has it.

Usage: openai_client.py URL KEY [ADMIN_KEY] [--only TEXT]

The server serves ../flows with `--model scripted=answers.yaml` and needs a key. README.md lists what each part of a request means.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import openai
from checks import ARTICLE, FLOWS, GREETING, HURT, Report, expect, expect_match, expect_words, raised, read_arguments
from openai import AsyncOpenAI, DefaultHttpxClient, OpenAI

USER = {"role": "user", "content": "hi"}
# Statuses of runs that fail at their model, and that wait for a person.
FAILED_AT_MODEL = 502
WAITING = 409


class Side:
    """The client, and a count of its requests."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        self.requests = 0
        self.client = self.connect_with(key)

    def connect_with(self, key: str) -> OpenAI:
        http = DefaultHttpxClient(trust_env=False, event_hooks={"request": [self._count]})
        return OpenAI(api_key=key, base_url=f"{self.url}/v1", http_client=http, timeout=45)

    def _count(self, _: Any) -> None:
        self.requests += 1

    def ask(self, model: str, *messages: Any, **named: Any) -> Any:
        return self.client.chat.completions.create(model=model, messages=list(messages), **named)

    def runs(self, flow: str) -> list[dict[str, Any]]:
        """The newest runs of a flow, from the API of agntz of the same server."""
        answer = self.client.get(f"{self.url}/runs?agentId={flow}&limit=50", cast_to=object)
        return answer["rows"]

    def refused(
        self,
        what: str,
        status: int,
        code: str | None,
        param: str | None,
        model: str,
        messages: Any,
        has_run: bool = False,
        **named: Any,
    ) -> dict[str, Any]:
        """A request that must be refused with this status, code and parameter, once, and without a run. Returns the error."""
        flow = model if model in QUIET else None
        before = self.runs(flow)[:1] if flow and not has_run else None
        self.requests = 0
        error = raised(what, openai.APIStatusError, self.client.chat.completions.create, model=model, messages=messages, **named)
        expect(f"{what}, status (error: {error})", error.status_code, status)
        expect(f"{what}, number of requests", self.requests, 1)
        body = error.response.json()
        expect(f"{what}, members of the body", sorted(body), ["error"])
        found = body["error"]
        for member in ("message", "type", "param", "code"):
            assert member in found, f"{what}: expected `error.{member}`, got {body!r}"
        assert isinstance(found["message"], str) and found["message"], f"{what}: expected a message, got {body!r}"
        assert isinstance(found["type"], str) and found["type"], f"{what}: expected a type, got {body!r}"
        assert isinstance(found["code"], str) and found["code"], f"{what}: expected a code, got {body!r}"
        assert str(FLOWS) not in error.response.text, f"{what}: expected no path of the server's files, got {body!r}"
        if code is not None:
            expect(f"{what}, code ({found['message']})", found["code"], code)
        if param is not None:
            assert str(found["param"]).startswith(param), f"{what}: expected the parameter {param}, got {found!r}"
        if before is not None:
            expect(f"{what}, newest run", self.runs(flow)[:1], before)
        return found


# Flows of which a refused request must not start a run.
QUIET = ("greeter", "chat", "grader", "selection")


def models(side: Side) -> None:
    """models are the flows"""
    found = {model.id: model for model in side.client.models.list()}
    for flow in ("greeter", "article", "grader", "approval", "echo"):
        assert flow in found, f"models: expected {flow}, got {sorted(found)}"
    model = found["greeter"]
    expect("object", model.object, "model")
    assert isinstance(model.created, int), f"created: expected seconds, got {model!r}"
    assert model.owned_by, f"owned_by: expected a text, got {model!r}"
    expect("retrieve", side.client.models.retrieve("greeter").model_dump(), model.model_dump())
    error = raised("retrieve of an unknown model", openai.NotFoundError, side.client.models.retrieve, "no-such-flow")
    expect("code", error.code, "model_not_found")


def plain(side: Side) -> None:
    """a completion has the answer, the reason of its end, usage"""
    before = time.time()
    answer = side.ask("greeter", USER)
    expect("object", answer.object, "chat.completion")
    expect_match("id", answer.id, r"chatcmpl-[A-Za-z0-9_-]+")
    expect("model", answer.model, "greeter")
    assert before - 5 <= answer.created <= time.time() + 5, f"created: expected now in seconds, got {answer.created}"
    [choice] = answer.choices
    expect("index", choice.index, 0)
    expect("role", choice.message.role, "assistant")
    expect("content", choice.message.content, GREETING)
    expect("finish_reason", choice.finish_reason, "stop")
    expect("tool_calls", choice.message.tool_calls, None)
    expect("refusal", choice.message.refusal, None)
    usage = answer.usage
    expect("usage", (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (12, 5, 17))
    assert answer._request_id, "x-request-id: expected a header"


def of_pipeline(side: Side) -> None:
    """a result that is no text is JSON, usage is that of the whole run"""
    answer = side.ask("echo", USER)
    expect("content", json.loads(answer.choices[0].message.content), {"echo": "hi", "witness": "seen"})
    answer = side.ask("article", {"role": "user", "content": '{"topic": "otters"}'})
    expect("content", json.loads(answer.choices[0].message.content), {"topic": "otters", "text": ARTICLE})
    usage = answer.usage
    expect("usage", (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (30, 11, 41))


def streamed(side: Side) -> None:
    """a stream has the same text in pieces, and usage on request"""
    for options, has_usage in ((None, False), ({"include_usage": False}, False), ({"include_usage": True}, True)):
        named = {} if options is None else {"stream_options": options}
        chunks = list(side.ask("greeter", USER, stream=True, **named))
        check_chunks(chunks, "greeter", GREETING)
        assert len([c for c in chunks if c.choices and c.choices[0].delta.content]) > 1, "expected several pieces"
        usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
        expect(f"number of chunks with usage for {options}", len(usages), int(has_usage))
        if has_usage:
            expect("choices of the last chunk", chunks[-1].choices, [])
            last = chunks[-1].usage
            expect("usage", (last.prompt_tokens, last.completion_tokens, last.total_tokens), (12, 5, 17))


def check_chunks(chunks: list[Any], model: str, content: str) -> None:
    expect("ids of the chunks", len({chunk.id for chunk in chunks}), 1)
    expect("times of the chunks", len({chunk.created for chunk in chunks}), 1)
    expect("objects of the chunks", {chunk.object for chunk in chunks}, {"chat.completion.chunk"})
    expect("models of the chunks", {chunk.model for chunk in chunks}, {model})
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    expect("role of the first delta", choices[0].delta.role, "assistant")
    expect("content", "".join(choice.delta.content or "" for choice in choices), content)
    reasons = [choice.finish_reason for choice in choices]
    expect("finish_reason", reasons, [None] * (len(reasons) - 1) + ["stop"])


def streamed_pipeline(side: Side) -> None:
    """the pieces of a pipeline are its result, not the texts of its agents"""
    answer = side.ask("article", {"role": "user", "content": '{"topic": "otters"}'})
    chunks = list(side.ask("article", {"role": "user", "content": '{"topic": "otters"}'}, stream=True))
    check_chunks(chunks, "article", answer.choices[0].message.content)


def accumulated(side: Side) -> None:
    """the client's own accumulation of a stream works"""
    with side.client.chat.completions.stream(
        model="greeter", messages=[USER], stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    expect("content", final.choices[0].message.content, GREETING)
    expect("total_tokens", final.usage.total_tokens, 17)


def hurting(side: Side) -> None:
    """awkward characters arrive whole, plain and streamed"""
    expect("content", side.ask("hurt", USER).choices[0].message.content, HURT)
    check_chunks(list(side.ask("hurt", USER, stream=True)), "hurt", HURT)
    answer = side.ask("echo", {"role": "user", "content": HURT})
    expect("echo", json.loads(answer.choices[0].message.content)["echo"], HURT)
    chunks = list(side.ask("echo", {"role": "user", "content": HURT}, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    expect("echo, streamed", json.loads(text)["echo"], HURT)
    large = "ä" * 500_000
    answer = side.ask("echo", {"role": "user", "content": large})
    assert json.loads(answer.choices[0].message.content)["echo"] == large, "expected 1 MB back"


def empty(side: Side) -> None:
    """an empty answer is an empty text"""
    expect("content", side.ask("blank", USER).choices[0].message.content, "")
    check_chunks(list(side.ask("blank", USER, stream=True)), "blank", "")
    answer = side.ask("echo", {"role": "user", "content": ""})
    expect("echo of an empty message", json.loads(answer.choices[0].message.content)["echo"], "")


def text_parts(side: Side) -> None:
    """content in text parts is their text, put together"""
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    answer = side.ask("echo", {"role": "user", "content": parts})
    expect("echo", json.loads(answer.choices[0].message.content)["echo"], "one two")
    answer = side.ask("echo", {"role": "user", "content": '{"a": 1}'})
    expect("echo of JSON for a text input", json.loads(answer.choices[0].message.content)["echo"], '{"a": 1}')


def object_input(side: Side) -> None:
    """a flow with an object as input reads it from JSON in the message"""
    answer = side.ask("grader", {"role": "user", "content": '{"essay": "On otters.", "points": 3}'})
    expect("content", json.loads(answer.choices[0].message.content), {"grade": "B", "passed": True})
    for text in ("On otters.", "[]", '{"essay": "On otters."', '"text"'):
        error = side.refused(text, 400, "INPUT_INVALID", "messages", "grader", [{"role": "user", "content": text}])
        expect_words("message, which names the properties", error["message"], "essay", "points")
    wrong = [{"role": "user", "content": '{"essay": 5, "points": 11}'}]
    error = side.refused("wrong properties", 400, "INPUT_INVALID", "messages", "grader", wrong)
    expect_words("message, which has all faults", error["message"], "essay", "points")


def conversation(side: Side) -> None:
    """a flow with the property `messages` gets the whole conversation"""
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "how are you?"},
    ]
    answer = json.loads(side.ask("chat", *messages).choices[0].message.content)
    expect("answer", answer["answer"], "I have heard you.")
    expect("messages", answer["heard"], messages)
    developer = [{"role": "developer", "content": "Be brief."}, USER]
    expect("messages", json.loads(side.ask("chat", *developer).choices[0].message.content)["heard"], developer)


def refused_messages(side: Side) -> None:
    """what a flow with one text as input cannot hear is refused"""
    earlier = [USER, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "how are you?"}]
    for what, messages in {
        "a system message": [{"role": "system", "content": "Be brief."}, USER],
        "a developer message": [{"role": "developer", "content": "Be brief."}, USER],
        "earlier turns": earlier,
        "two messages of the user": [USER, USER],
    }.items():
        error = side.refused(what, 400, "unsupported_message", "messages", "greeter", messages)
        expect_words(f"message for {what}", error["message"], "messages")
    for what, messages in {
        "no messages": [],
        "no message of the user at the end": [{"role": "assistant", "content": "Hello."}],
        "an unknown role": [{"role": "narrator", "content": "hi"}],
        "a message without content": [{"role": "user"}],
        "content that is a number": [{"role": "user", "content": 5}],
        "content that is null": [{"role": "user", "content": None}],
        "messages that are texts": ["hi"],
    }.items():
        side.refused(what, 400, None, "messages", "greeter", messages)


def refused_parts(side: Side) -> None:
    """images, audio and files are refused"""
    text = {"type": "text", "text": "what is it?"}
    for flow in ("greeter", "chat"):
        for part in (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file_1"}},
            {"type": "no-such-part"},
        ):
            messages = [{"role": "user", "content": [text, part]}]
            error = side.refused(f"{flow} with {part['type']}", 400, "unsupported_content", "messages", flow, messages)
            expect_words("message", error["message"], part["type"])
    tool = [USER, {"role": "tool", "tool_call_id": "call_1", "content": "x"}, USER]
    side.refused("a message of a tool", 400, "unsupported_message", "messages", "greeter", tool)


FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
# Each of these would change the answer, so none is dropped silently.
UNSUPPORTED: list[dict[str, Any]] = [
    {"tools": [FUNCTION]},
    {"tool_choice": "required"},
    {"functions": [FUNCTION["function"]]},
    {"n": 2},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}},
    {"modalities": ["text", "audio"]},
    {"audio": {"voice": "alloy", "format": "wav"}},
    {"temperature": 0.2},
    {"top_p": 0.5},
    {"presence_penalty": 0.5},
    {"frequency_penalty": -0.5},
    {"max_tokens": 100},
    {"max_completion_tokens": 100},
    {"seed": 1},
    {"stop": ["end"]},
    {"logit_bias": {"50256": -100}},
    {"logprobs": True},
    {"top_logprobs": 2},
    {"reasoning_effort": "low"},
    {"verbosity": "low"},
    {"service_tier": "flex"},
    {"store": True},
    {"prediction": {"type": "content", "content": "x"}},
    {"web_search_options": {}},
    {"extra_body": {"no_such_parameter": 1}},
]
# Each of these says what happens anyway.
DEFAULTS: dict[str, Any] = {
    "tools": [],
    "tool_choice": "none",
    "n": 1,
    "response_format": {"type": "text"},
    "modalities": ["text"],
    "temperature": 1,
    "top_p": 1.0,
    "presence_penalty": 0,
    "frequency_penalty": 0.0,
    "max_tokens": None,
    "stop": None,
    "seed": None,
    "logit_bias": {},
    "logprobs": False,
    "service_tier": "auto",
    "store": False,
    "stream": False,
    "parallel_tool_calls": True,
}


def refused_parameters(side: Side) -> None:
    """a parameter that has no effect here is refused by name"""
    wrong = []
    for named in UNSUPPORTED:
        [name] = named.get("extra_body", named)
        for stream in (False, True):
            what = f"{named}, stream={stream}"
            try:
                error = side.refused(what, 400, "unsupported_parameter", name, "greeter", [USER], stream=stream, **named)
                expect_words(f"message for {what}", error["message"], name)
                expect(f"type for {what}", error["type"], "invalid_request_error")
            except AssertionError as failure:
                wrong.append(str(failure))
    assert not wrong, f"{len(wrong)} wrong: {'; '.join(wrong)}"


def accepted_parameters(side: Side) -> None:
    """a parameter with its default is accepted"""
    for name, value in DEFAULTS.items():
        answer = side.ask("greeter", USER, **{name: value})
        expect(f"content with {name}={value}", answer.choices[0].message.content, GREETING)
    answer = side.ask("greeter", USER, **{name: value for name, value in DEFAULTS.items() if name != "tool_choice"})
    expect("content with all of them", answer.choices[0].message.content, GREETING)


def labels(side: Side) -> None:
    """`user` and `metadata` are accepted, as labels of the run; wrong ones are refused"""
    answer = side.ask("greeter", USER, user="ada", metadata={"team": "red", "ticket": "A-1"})
    expect("content", answer.choices[0].message.content, GREETING)
    for metadata in ("x", {"team": 5}, {"x": "y" * 100_000}):
        side.refused(f"metadata {str(metadata)[:30]}", 400, None, "metadata", "greeter", [USER], metadata=metadata)
    side.refused("user that is no text", 400, None, "user", "greeter", [USER], user=5)


def wrong_requests(side: Side) -> None:
    """an unknown model and a wrong request have errors of OpenAI's form"""
    error = side.refused("an unknown model", 404, "model_not_found", "model", "no-such-flow", [USER])
    expect_words("message", error["message"], "no-such-flow")
    side.refused("an unknown model, streamed", 404, "model_not_found", "model", "no-such-flow", [USER], stream=True)
    for model in ("", "../greeter", "greeter\n", "x" * 5000):
        side.refused(f"the model {model[:20]!r}", 404, "model_not_found", "model", model, [USER])
    side.refused("a model that is no text", 400, None, "model", 5, [USER])
    side.refused("stream_options without a stream", 400, None, "stream_options", "greeter", [USER], stream_options={"include_usage": True})
    for body in (b"{", b"[]", b"", b'{"model": "greeter"}', b'{"messages": [{"role": "user", "content": "hi"}]}'):
        error = raised(
            f"the body {body!r}",
            openai.BadRequestError,
            side.client.post,
            "/chat/completions",
            cast_to=object,
            content=body,
            options={"headers": {"Content-Type": "application/json"}},
        )
        assert error.response.json()["error"]["message"], f"the body {body!r}: expected an error of OpenAI's form"


def bad_key(side: Side) -> None:
    """a wrong key is 401"""
    client = side.connect_with("sk-this-key-does-not-exist")
    calls = {
        "models": client.models.list,
        "completion": lambda: client.chat.completions.create(model="greeter", messages=[USER]),
        "stream": lambda: client.chat.completions.create(model="greeter", messages=[USER], stream=True),
    }
    for name, call in calls.items():
        error = raised(f"{name} with a wrong key", openai.AuthenticationError, call)
        expect(f"{name}, code", error.code, "invalid_api_key")
        assert "sk-this-key" not in str(error), f"{name}: expected that the error does not repeat the key, got {error}"


def failing(side: Side) -> None:
    """a failing run is an error with its code, and is not repeated"""
    before = len(side.runs("failing"))
    error = side.refused("failing", FAILED_AT_MODEL, "MODEL_ERROR", None, "failing", [USER], has_run=True)
    expect_words("message", error["message"], "this model refuses")
    side.requests = 0
    error = raised("failing, streamed", openai.APIError, lambda: list(side.ask("failing", USER, stream=True)))
    expect("code of the stream", error.code, "MODEL_ERROR")
    expect_words("message of the stream", str(error), "this model refuses")
    expect("number of requests", side.requests, 1)
    expect("number of runs", len(side.runs("failing")), min(before + 2, 50))


def waiting(side: Side) -> None:
    """a run that waits for a person says where to answer, and is not repeated"""
    known = {row["id"] for row in side.runs("approval")}
    error = side.refused("approval", WAITING, "waiting_for_person", None, "approval", [USER], has_run=True)
    rows = [row for row in side.runs("approval") if row["id"] not in known]
    expect("number of runs", len(rows), 1)
    expect("status of the run", rows[0]["status"], "running")
    expect_words("message, with question and run", error["message"], "Publish this? hi", rows[0]["id"])
    side.requests = 0
    error = raised("approval, streamed", openai.APIError, lambda: list(side.ask("approval", USER, stream=True)))
    expect("code of the stream", error.code, "waiting_for_person")
    expect("number of requests", side.requests, 1)
    rows = [row for row in side.runs("approval") if row["id"] not in known]
    expect("number of runs", len(rows), 2)
    for row in rows:
        side.client.post(f"{side.url}/runs/{row['id']}/cancel", cast_to=object)


def not_runnable(side: Side) -> None:
    """a flow that cannot run here is refused"""
    error = side.refused("picture", 422, None, None, "picture", [USER])
    expect_words("message", error["message"], "image")
    error = side.refused("selection", 422, None, None, "selection", [USER])
    expect_words("message, which names the tool", error["message"], "get_selection")


def left_stream(side: Side) -> None:
    """a stream that the client closes cancels its run"""
    known = {row["id"] for row in side.runs("slow")}
    stream = side.ask("slow", USER, stream=True)
    deadline = time.monotonic() + 15
    while not [row for row in side.runs("slow") if row["id"] not in known]:
        assert time.monotonic() < deadline, "expected a run"
        time.sleep(0.05)
    stream.close()
    while True:
        [row] = [row for row in side.runs("slow") if row["id"] not in known]
        if row["status"] == "cancelled":
            return
        assert time.monotonic() < deadline, f"status: expected cancelled, got {row['status']}"
        time.sleep(0.05)


def live_stream(side: Side) -> None:
    """a stream has its head before the run ends"""
    started = time.monotonic()
    stream = side.ask("stepwise", USER, stream=True)
    opened = time.monotonic() - started
    list(stream)
    took = time.monotonic() - started
    assert took > 1.5, f"expected a run of 1.8 s, got {took:.2f} s"
    assert took - opened > 0.8, f"expected the head of the answer at once, got it {took - opened:.2f} s before the end"


def other_paths(side: Side) -> None:
    """other paths of OpenAI's API are 404 in its form"""
    calls = {
        "responses": lambda: side.client.responses.create(model="greeter", input="hi"),
        "embeddings": lambda: side.client.embeddings.create(model="greeter", input="hi"),
        "completions": lambda: side.client.completions.create(model="greeter", prompt="hi"),
        "files": lambda: side.client.files.list(),
    }
    for name, call in calls.items():
        error = raised(name, openai.NotFoundError, call)
        expect(f"{name}, code", error.code, "unknown_url")
        assert error.response.json()["error"]["message"], f"{name}: expected an error of OpenAI's form"


def asynchronous(side: Side) -> None:
    """the asynchronous client works, also many times at once"""

    async def ask_all() -> list[str]:
        async with AsyncOpenAI(api_key=side.key, base_url=f"{side.url}/v1", timeout=45) as client:
            stream = await client.chat.completions.create(model="greeter", messages=[USER], stream=True)
            chunks = [chunk async for chunk in stream]
            check_chunks(chunks, "greeter", GREETING)
            messages = [[{"role": "user", "content": f"{number}"}] for number in range(20)]
            asked = [client.chat.completions.create(model="echo", messages=one) for one in messages]
            answers = await asyncio.gather(*asked)
            return [json.loads(answer.choices[0].message.content)["echo"] for answer in answers]

    expect("answers", asyncio.run(ask_all()), [f"{number}" for number in range(20)])


CHECKS = [
    models,
    plain,
    of_pipeline,
    streamed,
    streamed_pipeline,
    accumulated,
    hurting,
    empty,
    text_parts,
    object_input,
    conversation,
    refused_messages,
    refused_parts,
    refused_parameters,
    accepted_parameters,
    labels,
    wrong_requests,
    bad_key,
    failing,
    waiting,
    not_runnable,
    left_stream,
    live_stream,
    other_paths,
    asynchronous,
]


def main() -> int:
    arguments = read_arguments("Tests /v1/chat/completions with OpenAI's own client.")
    report = Report(arguments.only)
    side = Side(arguments.url, arguments.key)
    for check in CHECKS:
        report.check(f"openai: {check.__doc__}", check, side)
    return report.exit_code()


if __name__ == "__main__":
    sys.exit(main())
