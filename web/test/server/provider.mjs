// A provider of models on this machine, which answers as a test wants.
import { createServer } from 'node:http';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts one. `answer(prompt, request)` gives `{ parts, pause }` or `{ status, message }`; parts are sent one after the other. */
export async function startProvider(answer) {
  const provider = { answer, calls: 0, url: '', stop: () => {} };
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
    const prompt = body.messages?.at(-1)?.content ?? '';
    provider.calls += 1;
    const said = await provider.answer(typeof prompt === 'string' ? prompt : JSON.stringify(prompt), body);
    if (said.status) {
      response.writeHead(said.status, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ error: { message: said.message ?? 'no', type: 'invalid_request_error' } }));
    }
    const usage = { prompt_tokens: 10, completion_tokens: said.parts.length, total_tokens: 10 + said.parts.length };
    if (!body.stream) {
      for (const _ of said.parts) await pause(said.pause ?? 0);
      response.writeHead(200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: said.parts.join('') };
      return response.end(JSON.stringify({ id: 'r', object: 'chat.completion', model: body.model, choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = (delta, finish_reason = null, more = {}) =>
      response.write(`data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: body.model, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
    for (const part of said.parts) {
      frame({ role: 'assistant', content: part });
      await pause(said.pause ?? 0);
    }
    frame({}, 'stop');
    response.write(`data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: body.model, choices: [], usage })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  provider.url = `http://127.0.0.1:${server.address().port}/v1`;
  provider.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return provider;
}
