// Tests `/v1/chat/completions` and `/v1/models` with OpenAI's own client as npm has it.
//
// Usage: FOLDER/node_modules/.bin/node openai_client.mjs URL KEY [--only TEXT], where FOLDER is that of `.ci/api-clients`.
//
// The server serves ../flows with `--model scripted=answers.yaml` and needs a key. What is tested more closely is in openai_client.py;
// this is what another reader of the same answers and streams could see differently.

import { createRequire } from "node:module";

// The client is installed next to the node that runs this.
const require = createRequire(process.execPath);
const { OpenAI, APIError, APIUserAbortError, AuthenticationError, BadRequestError, NotFoundError } = require("openai");

const GREETING = "Good morning from the script.";
// As in checks.py.
const HURT =
  "line\u2028paragraph\u2029next\u0085tab\u000bform\u000cfile\u001cgroup\u001drecord\u001enul\0" +
  ' quote" back\\ end\r\n\r\ndata: {}\n\n';
const USER = [{ role: "user", content: "hi" }];

const [url, key, ...rest] = process.argv.slice(2);
if (!url || !key) {
  console.error("usage: openai_client.mjs URL KEY [--only TEXT]");
  process.exit(2);
}
const only = rest[0] === "--only" ? rest[1] : undefined;
const base = url.replace(/\/+$/, "");

let requests = 0;
/** A client with this key that counts its requests. */
function connectWith(apiKey) {
  const counted = (...given) => {
    requests += 1;
    return fetch(...given);
  };
  return new OpenAI({ apiKey, baseURL: `${base}/v1`, fetch: counted, timeout: 45_000 });
}
const client = connectWith(key);

function expect(what, actual, expected) {
  const [shown, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (shown !== wanted) throw new Error(`${what}: expected ${wanted}, got ${shown}`);
}

function expectWords(what, text, ...words) {
  for (const word of words) {
    const found = typeof text === "string" && text.toLowerCase().includes(word.toLowerCase());
    if (!found) throw new Error(`${what}: expected ${JSON.stringify(word)} in it, got ${JSON.stringify(text)}`);
  }
}

/** Awaits something that must throw an error of this class, and returns the error. */
async function thrown(what, kind, call) {
  let answer;
  try {
    answer = await call();
  } catch (error) {
    if (error instanceof kind) return error;
    throw new Error(`${what}: expected ${kind.name}, got ${error?.constructor?.name}: ${error?.message}`);
  }
  throw new Error(`${what}: expected ${kind.name}, got the answer ${JSON.stringify(answer)?.slice(0, 300)}`);
}

const ask = (model, messages, more = {}) => client.chat.completions.create({ model, messages, ...more });

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const contentOf = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? "").join("");

/** A request that must be refused once, with an error of OpenAI's form. */
async function refused(what, status, code, param, call) {
  requests = 0;
  const error = await thrown(what, APIError, call);
  expect(`${what}, status (${error.message})`, error.status, status);
  expect(`${what}, number of requests`, requests, 1);
  if (code) expect(`${what}, code`, error.code, code);
  if (param) expectWords(`${what}, param`, error.param, param);
  for (const member of ["message", "type", "param", "code"]) {
    if (!(member in error.error)) throw new Error(`${what}: expected error.${member}, got ${JSON.stringify(error.error)}`);
  }
  return error;
}

const checks = {
  async "models are the flows"() {
    const found = [];
    for await (const model of client.models.list()) found.push(model.id);
    for (const flow of ["greeter", "article", "approval"]) {
      if (!found.includes(flow)) throw new Error(`models: expected ${flow}, got ${found}`);
    }
    expect("retrieve", (await client.models.retrieve("greeter")).id, "greeter");
    const error = await thrown("retrieve of an unknown model", NotFoundError, () => client.models.retrieve("no-such-flow"));
    expect("code", error.code, "model_not_found");
  },

  async "a completion has answer and usage"() {
    const answer = await ask("greeter", USER);
    expect("object", answer.object, "chat.completion");
    expect("content", answer.choices[0].message.content, GREETING);
    expect("finish_reason", answer.choices[0].finish_reason, "stop");
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
    expect("usage", [prompt_tokens, completion_tokens, total_tokens], [12, 5, 17]);
    if (!answer._request_id) throw new Error("x-request-id: expected a header");
  },

  async "a stream has the same text in pieces, and usage on request"() {
    for (const include_usage of [false, true]) {
      const chunks = await collect(await ask("greeter", USER, { stream: true, stream_options: { include_usage } }));
      expect("content", contentOf(chunks), GREETING);
      expect("ids", new Set(chunks.map((chunk) => chunk.id)).size, 1);
      const choices = chunks.flatMap((chunk) => chunk.choices);
      expect("finish_reason", choices.at(-1).finish_reason, "stop");
      const usages = chunks.filter((chunk) => chunk.usage);
      expect("number of chunks with usage", usages.length, Number(include_usage));
      if (include_usage) expect("total_tokens", chunks.at(-1).usage.total_tokens, 17);
    }
  },

  async "the client's own accumulation of a stream works"() {
    const runner = client.chat.completions.stream({
      model: "greeter",
      messages: USER,
      stream_options: { include_usage: true },
    });
    expect("content", await runner.finalContent(), GREETING);
    expect("total_tokens", (await runner.totalUsage()).total_tokens, 17);
  },

  async "awkward characters arrive whole, plain and streamed"() {
    expect("content", (await ask("hurt", USER)).choices[0].message.content, HURT);
    expect("content, streamed", contentOf(await collect(await ask("hurt", USER, { stream: true }))), HURT);
    const echo = await ask("echo", [{ role: "user", content: `${HURT} 👩‍👩‍👧 \ud800` }]);
    expect("echo", JSON.parse(echo.choices[0].message.content).echo, `${HURT} 👩‍👩‍👧 \ufffd`);
  },

  async "a flow with the property `messages` gets the whole conversation"() {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
      { role: "assistant", content: "Hello." },
      { role: "user", content: "how are you?" },
    ];
    const answer = JSON.parse((await ask("chat", messages)).choices[0].message.content);
    expect("messages", answer.heard, messages);
  },

  async "what has no effect is refused by name"() {
    const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
    const format = { type: "json_object" };
    for (const more of [{ tools: [tool] }, { n: 2 }, { response_format: format }, { temperature: 0.2 }, { max_tokens: 9 }]) {
      const [name] = Object.keys(more);
      const error = await refused(name, 400, "unsupported_parameter", name, () => ask("greeter", USER, more));
      if (!(error instanceof BadRequestError)) throw new Error(`${name}: expected BadRequestError`);
    }
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const withImage = [{ role: "user", content: [{ type: "text", text: "what is it?" }, image] }];
    await refused("an image", 400, "unsupported_content", "messages", () => ask("greeter", withImage));
    const withSystem = [{ role: "system", content: "Be brief." }, ...USER];
    await refused("a system message", 400, "unsupported_message", "messages", () => ask("greeter", withSystem));
    await refused("an unknown model", 404, "model_not_found", "model", () => ask("no-such-flow", USER));
  },

  async "a wrong key is 401"() {
    const wrong = connectWith("sk-this-key-does-not-exist");
    const call = () => wrong.chat.completions.create({ model: "greeter", messages: USER });
    const error = await thrown("a wrong key", AuthenticationError, call);
    expect("code", error.code, "invalid_api_key");
  },

  async "a run that fails, or waits for a person, is not repeated"() {
    const failure = await refused("failing", 502, "MODEL_ERROR", null, () => ask("failing", USER));
    expectWords("message", failure.message, "this model refuses");
    const question = await refused("approval", 409, "waiting_for_person", null, () => ask("approval", USER));
    expectWords("message", question.message, "Publish this? hi");
    for (const [flow, code] of [["failing", "MODEL_ERROR"], ["approval", "waiting_for_person"]]) {
      requests = 0;
      const call = async () => collect(await ask(flow, USER, { stream: true }));
      const error = await thrown(`${flow}, streamed`, APIError, call);
      expect(`${flow}, code of the stream`, error.code, code);
      expect(`${flow}, number of requests`, requests, 1);
    }
  },

  async "a stream that the client aborts ends"() {
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 500);
    const more = { stream: true };
    const started = Date.now();
    const call = async () => {
      const options = { signal: abort.signal };
      const stream = await client.chat.completions.create({ model: "slow", messages: USER, ...more }, options);
      await collect(stream);
      // This client ends the loop without an error when its own signal aborts a stream that has begun.
      throw new APIUserAbortError();
    };
    await thrown("an aborted stream", APIUserAbortError, call);
    if (Date.now() - started > 5000) throw new Error(`expected an end at once, got it after ${Date.now() - started} ms`);
  },
};

let passed = 0;
const failed = [];
for (const [name, check] of Object.entries(checks)) {
  if (only && !name.includes(only)) continue;
  const started = Date.now();
  try {
    await check();
    passed += 1;
    console.log(`ok    openai.mjs: ${name}  (${((Date.now() - started) / 1000).toFixed(2)} s)`);
  } catch (error) {
    failed.push(name);
    const text = String(error?.message ?? error).replace(/[\n\r\u2028\u2029\u0085]/g, " ").slice(0, 600);
    console.log(`FAIL  openai.mjs: ${name}: ${text}`);
  }
}
console.log(`${passed} passed, ${failed.length} failed`);
process.exit(passed > 0 && failed.length === 0 ? 0 : 1);
