"""Records what the providers' official Python SDKs send, for crates/trefoil-models/tests/models/sdk_recordings/.

    python3 -m venv sdk
    sdk/bin/pip install openai anthropic mistralai google-genai ollama cohere
    sdk/bin/python xtask/sdk-recordings/record.py

Each SDK talks to a server in this process. One file for each SDK and case: name and version of the SDK, method, path, the headers
that matter, the body. `tests/models/recorded.rs` compares them with what Trefoil sends for the same request.
"""

import base64
import importlib.metadata
import json
import pathlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OUT = pathlib.Path(__file__).resolve().parents[2] / "crates/trefoil-models/tests/models/sdk_recordings"
HEADERS = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "anthropic-version", "content-type"]
KEY = "key-of-the-test"

SYSTEM = "Be brief."
QUESTION = "What is the weather in Bergen and Oslo?"
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
SCHEMA = {
    "type": "object",
    "properties": {"sky": {"type": "string"}},
    "required": ["sky"],
    "additionalProperties": False,
}
IMAGE, SOUND = b"image", b"sound"
IMAGE_TEXT, SOUND_TEXT = (base64.b64encode(it).decode() for it in (IMAGE, SOUND))
IMAGE_URL = "https://example.com/sky.png"
CALLS = [("call_1", {"city": "Bergen"}, "rain"), ("call_2", {"city": "Oslo"}, "sun")]

received = []


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name: self.headers[name] for name in HEADERS if self.headers[name]}
        received.append({"method": "POST", "path": self.path, "headers": headers, "body": body})
        # What the SDK makes of the answer is not looked at.
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def record(sdk, case, call):
    received.clear()
    try:
        result = call()
        # Some streams send nothing before somebody listens.
        for _ in result if hasattr(result, "__iter__") else []:
            break
    except Exception as error:  # the answer is a refusal
        if not received:
            raise SystemExit(f"{sdk} {case}: {error!r}")
    recording = {"sdk": sdk, "version": importlib.metadata.version(sdk), "case": case, **received[0]}
    name = f"{sdk}-{case}.json"
    (OUT / name).write_text(json.dumps(recording, indent=2, ensure_ascii=False) + "\n")
    print(name)


def openai(url):
    from openai import OpenAI

    client = OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
    chat = client.chat.completions
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    tools = [
        {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": WEATHER}}
    ]
    asked = [
        {"id": id, "type": "function", "function": {"name": "weather", "arguments": json.dumps(arguments, separators=(",", ":"))}}
        for id, arguments, _ in CALLS
    ]
    results = [{"role": "tool", "tool_call_id": id, "content": result} for id, _, result in CALLS]
    record("openai", "plain", lambda: chat.create(
        model="m", messages=conversation, temperature=0.5, top_p=0.25, max_tokens=64, seed=7, stop=["END"],
        presence_penalty=0.5, frequency_penalty=0.25))
    record("openai", "stream", lambda: chat.create(
        model="m", messages=conversation, stream=True, stream_options={"include_usage": True}))
    record("openai", "schema", lambda: chat.create(
        model="m", messages=conversation,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}))
    record("openai", "tools", lambda: chat.create(model="m", messages=conversation, tools=tools))
    record("openai", "results", lambda: chat.create(
        model="m", tools=tools,
        messages=[*conversation, {"role": "assistant", "content": None, "tool_calls": asked}, *results]))

    parts = [
        {"type": "text", "text": QUESTION},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE_TEXT}"}},
        {"type": "image_url", "image_url": {"url": IMAGE_URL, "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": SOUND_TEXT, "format": "wav"}},
    ]
    record("openai", "blocks", lambda: chat.create(
        model="m", messages=[conversation[0], {"role": "user", "content": parts}]))

    items = [
        *conversation,
        *({"type": "function_call", "call_id": id, "name": "weather", "arguments": json.dumps(arguments, separators=(",", ":"))}
          for id, arguments, _ in CALLS),
        *({"type": "function_call_output", "call_id": id, "output": result} for id, _, result in CALLS),
    ]
    flat = [{"type": "function", "name": "weather", "description": "The weather of a city", "parameters": WEATHER, "strict": False}]
    common = {"model": "m", "store": False, "include": ["reasoning.encrypted_content"]}
    responses = client.responses
    record("openai", "responses-plain", lambda: responses.create(
        **common, input=conversation, temperature=0.5, top_p=0.25, max_output_tokens=64))
    record("openai", "responses-stream", lambda: responses.create(**common, input=conversation, stream=True))
    record("openai", "responses-schema", lambda: responses.create(
        **common, input=conversation,
        text={"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}}))
    record("openai", "responses-tools", lambda: responses.create(**common, input=conversation, tools=flat))
    parts = [
        {"type": "input_text", "text": QUESTION},
        {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE_TEXT}", "detail": "auto"},
        {"type": "input_image", "image_url": IMAGE_URL, "detail": "low"},
    ]
    record("openai", "responses-blocks", lambda: responses.create(
        **common, input=[conversation[0], {"role": "user", "content": parts}]))
    record("openai", "responses-results", lambda: responses.create(**common, input=items, tools=flat))


def anthropic(url):
    from anthropic import Anthropic

    create = Anthropic(api_key=KEY, base_url=url, max_retries=0).messages.create
    question = {"role": "user", "content": QUESTION}
    tools = [{"name": "weather", "description": "The weather of a city", "input_schema": WEATHER}]
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": SYSTEM, **mark}]
    asked = [{"type": "tool_use", "id": id, "name": "weather", "input": arguments} for id, arguments, _ in CALLS]
    results = [{"type": "tool_result", "tool_use_id": id, "content": result} for id, _, result in CALLS]
    results[-1].update(mark)
    marked = {"role": "user", "content": [{"type": "text", "text": QUESTION, **mark}]}
    record("anthropic", "plain", lambda: create(
        model="m", max_tokens=64, system=SYSTEM, messages=[question], stop_sequences=["END"],
        # The SDK has no names for them any more; the interface still has.
        extra_body={"temperature": 0.5, "top_p": 0.25, "top_k": 4}))
    record("anthropic", "stream", lambda: create(model="m", max_tokens=64, system=SYSTEM, messages=[question], stream=True))
    record("anthropic", "schema", lambda: create(
        model="m", max_tokens=64, system=SYSTEM, messages=[question],
        output_config={"format": {"type": "json_schema", "schema": SCHEMA}}))
    blocks = [
        {"type": "text", "text": QUESTION},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE_TEXT}},
        {"type": "image", "source": {"type": "url", "url": IMAGE_URL}},
    ]
    record("anthropic", "blocks", lambda: create(
        model="m", max_tokens=64, system=SYSTEM, messages=[{"role": "user", "content": blocks}]))
    record("anthropic", "tools", lambda: create(model="m", max_tokens=64, system=system, messages=[marked], tools=tools))
    record("anthropic", "results", lambda: create(
        model="m", max_tokens=64, system=system, tools=tools,
        messages=[question, {"role": "assistant", "content": asked}, {"role": "user", "content": results}]))


def mistral(url):
    from mistralai.client import Mistral

    chat = Mistral(api_key=KEY, server_url=url).chat
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    tools = [
        {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": WEATHER}}
    ]
    asked = [
        {"id": id, "type": "function", "function": {"name": "weather", "arguments": json.dumps(arguments, separators=(",", ":"))}}
        for id, arguments, _ in CALLS
    ]
    results = [{"role": "tool", "tool_call_id": id, "content": result} for id, _, result in CALLS]
    record("mistralai", "plain", lambda: chat.complete(
        model="m", messages=conversation, temperature=0.5, top_p=0.25, max_tokens=64, random_seed=7, stop=["END"],
        presence_penalty=0.5, frequency_penalty=0.25))
    record("mistralai", "stream", lambda: chat.stream(model="m", messages=conversation))
    record("mistralai", "schema", lambda: chat.complete(
        model="m", messages=conversation,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}))
    parts = [
        {"type": "text", "text": QUESTION},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE_TEXT}"}},
        {"type": "image_url", "image_url": {"url": IMAGE_URL, "detail": "low"}},
        {"type": "input_audio", "input_audio": SOUND_TEXT},
    ]
    record("mistralai", "blocks", lambda: chat.complete(
        model="m", messages=[conversation[0], {"role": "user", "content": parts}]))
    record("mistralai", "tools", lambda: chat.complete(model="m", messages=conversation, tools=tools))
    record("mistralai", "results", lambda: chat.complete(
        model="m", tools=tools,
        messages=[*conversation, {"role": "assistant", "content": None, "tool_calls": asked}, *results]))


def azure(url):
    from openai import OpenAI

    # The `v1` interface, which needs no `api-version`, is called with the plain client.
    chat = OpenAI(api_key=KEY, base_url=f"{url}/openai/v1", max_retries=0).chat.completions
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    record("openai", "azure-plain", lambda: chat.create(
        model="m", messages=conversation, temperature=0.5, top_p=0.25, max_completion_tokens=64, seed=7, stop=["END"],
        presence_penalty=0.5, frequency_penalty=0.25))


def google(url):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=KEY, vertexai=False, http_options=types.HttpOptions(base_url=url))
    create = client.models.generate_content

    def config(**more):
        return types.GenerateContentConfig(
            system_instruction=SYSTEM,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True), **more)

    tools = [types.Tool(function_declarations=[types.FunctionDeclaration(
        name="weather", description="The weather of a city", parameters_json_schema=WEATHER)])]
    question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    asked = types.Content(role="model", parts=[
        types.Part(function_call=types.FunctionCall(id=id, name="weather", args=arguments)) for id, arguments, _ in CALLS])
    results = types.Content(role="user", parts=[
        types.Part(function_response=types.FunctionResponse(id=id, name="weather", response={"result": result}))
        for id, _, result in CALLS])
    blocks = types.Content(role="user", parts=[
        types.Part(text=QUESTION),
        types.Part.from_bytes(data=IMAGE, mime_type="image/png"),
        types.Part.from_uri(file_uri=IMAGE_URL, mime_type="image/png"),
        types.Part.from_bytes(data=SOUND, mime_type="audio/wav"),
    ])
    record("google-genai", "plain", lambda: create(model="m", contents=QUESTION, config=config(
        temperature=0.5, top_p=0.25, top_k=4, max_output_tokens=64, seed=7, stop_sequences=["END"],
        presence_penalty=0.5, frequency_penalty=0.25)))
    record("google-genai", "stream", lambda: client.models.generate_content_stream(
        model="m", contents=QUESTION, config=config()))
    record("google-genai", "schema", lambda: create(model="m", contents=QUESTION, config=config(
        response_mime_type="application/json", response_json_schema=SCHEMA)))
    record("google-genai", "tools", lambda: create(model="m", contents=QUESTION, config=config(tools=tools)))
    record("google-genai", "results", lambda: create(
        model="m", contents=[question, asked, results], config=config(tools=tools)))
    record("google-genai", "blocks", lambda: create(model="m", contents=[blocks], config=config()))


def ollama(url):
    from ollama import Client

    chat = Client(host=url).chat
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    tools = [
        {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": WEATHER}}
    ]
    asked = [{"function": {"name": "weather", "arguments": arguments}} for _, arguments, _ in CALLS]
    results = [{"role": "tool", "tool_name": "weather", "content": result} for _, _, result in CALLS]
    record("ollama", "plain", lambda: chat(model="m", messages=conversation, options={
        "temperature": 0.5, "top_p": 0.25, "top_k": 4, "num_predict": 64, "seed": 7, "stop": ["END"],
        "presence_penalty": 0.5, "frequency_penalty": 0.25}))
    record("ollama", "stream", lambda: chat(model="m", messages=conversation, stream=True))
    record("ollama", "schema", lambda: chat(model="m", messages=conversation, format=SCHEMA))
    record("ollama", "tools", lambda: chat(model="m", messages=conversation, tools=tools))
    record("ollama", "results", lambda: chat(model="m", tools=tools, messages=[
        *conversation, {"role": "assistant", "content": "", "tool_calls": asked}, *results]))
    record("ollama", "blocks", lambda: chat(model="m", messages=[
        conversation[0], {**conversation[1], "images": [IMAGE_TEXT]}]))


def cohere(url):
    from cohere import ClientV2

    client = ClientV2(api_key=KEY, base_url=url)
    conversation = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    tools = [
        {"type": "function", "function": {"name": "weather", "description": "The weather of a city", "parameters": WEATHER}}
    ]
    asked = [
        {"id": id, "type": "function", "function": {"name": "weather", "arguments": json.dumps(arguments, separators=(",", ":"))}}
        for id, arguments, _ in CALLS
    ]
    results = [{"role": "tool", "tool_call_id": id, "content": result} for id, _, result in CALLS]
    parts = [
        {"type": "text", "text": QUESTION},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE_TEXT}"}},
        {"type": "image_url", "image_url": {"url": IMAGE_URL, "detail": "low"}},
    ]
    record("cohere", "plain", lambda: client.chat(
        model="m", messages=conversation, temperature=0.5, p=0.25, k=4, max_tokens=64, seed=7, stop_sequences=["END"],
        presence_penalty=0.5, frequency_penalty=0.25))
    record("cohere", "stream", lambda: client.chat_stream(model="m", messages=conversation))
    record("cohere", "schema", lambda: client.chat(
        model="m", messages=conversation, response_format={"type": "json_object", "json_schema": SCHEMA}))
    record("cohere", "tools", lambda: client.chat(model="m", messages=conversation, tools=tools))
    record("cohere", "results", lambda: client.chat(
        model="m", tools=tools, messages=[*conversation, {"role": "assistant", "tool_calls": asked}, *results]))
    record("cohere", "blocks", lambda: client.chat(
        model="m", messages=[conversation[0], {"role": "user", "content": parts}]))


def main():
    OUT.mkdir(exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    wanted = sys.argv[1:]
    sdks = [("openai", openai), ("azure", azure), ("anthropic", anthropic), ("mistralai", mistral), ("google-genai", google),
            ("ollama", ollama), ("cohere", cohere)]
    for name, run in sdks:
        if not wanted or name in wanted:
            run(url)


main()
