// `trefoil serve` in a process of its own, requests to it, and a way to it that can be cut.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { here } from '../support.mjs';

const binary = () => process.env.TREFOIL ?? here('../../target/debug/trefoil');
const flows = here('flows');

/** A port that is free now. */
async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts a server, and waits until it is ready. */
export async function startServer({ provider, args = [], folder = flows }) {
  const data = mkdtempSync(join(tmpdir(), 'trefoil-serve-'));
  const store = join(data, 'runs.db');
  const env = { ...process.env, OPENAI_API_KEY: 'none', OPENAI_BASE_URL: provider, TREFOIL_CONFIG_DIR: data, HOME: data, XDG_CONFIG_HOME: data };
  const server = { url: '', port: await freePort(), store, data, env, child: null };
  server.url = `http://127.0.0.1:${server.port}/`;
  server.start = async () => {
    const child = spawn(binary(), ['serve', folder, '--allow-command', '--port', String(server.port), '--store', store, '--lease', '2', ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (text) => (said = (said + text).slice(-4000)));
    server.child = child;
    for (let i = 0; i < 300; i++) {
      if (child.exitCode !== null) throw new Error(`the server ended: ${said}`);
      const ready = await fetch(`${server.url}ready`).then((r) => r.ok, () => false);
      if (ready) return;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`the server is not ready: ${said}`);
  };
  /** As if it had crashed. */
  server.kill = () => new Promise((done) => {
    server.child.once('exit', done);
    server.child.kill('SIGKILL');
  });
  server.stop = async () => {
    if (server.child.exitCode === null && server.child.signalCode === null) await server.kill();
    rmSync(data, { recursive: true, force: true });
  };
  server.api = async (path, { method = 'GET', body, key } = {}) => {
    const response = await fetch(`${server.url}api/v1${path}`, {
      method: body ? 'POST' : method,
      headers: key ? { authorization: `Bearer ${key}` } : {},
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return { status: response.status, json: text ? JSON.parse(text) : null, text };
  };
  server.run = async (flow, input, more = {}) => {
    const { status, json, text } = await server.api('/runs', { body: { flow, input, ...more } });
    assert.ok(status === 200 || status === 201, text);
    return json.run;
  };
  server.addKey = (name, scopes, more = []) => {
    const made = spawnSync(binary(), ['keys', 'add', name, '--scope', scopes, ...more, '--store', store], { env, encoding: 'utf8' });
    const key = `${made.stdout}\n${made.stderr}`.match(/\btrefoil_[A-Za-z0-9_-]+/)?.[0];
    assert.ok(key, made.stdout + made.stderr);
    return key;
  };
  server.revokeKey = (name) => {
    const done = spawnSync(binary(), ['keys', 'revoke', name, '--store', store], { env, encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
  };
  await server.start();
  return server;
}

/** A way to a port that can be cut, and mended. */
export async function startWay(port) {
  const open = new Set();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) return from.destroy();
    const to = connect(port, '127.0.0.1');
    for (const [a, b] of [[from, to], [to, from]]) {
      open.add(a);
      a.on('close', () => (open.delete(a), b.destroy()));
      a.on('error', () => b.destroy());
      a.pipe(b);
    }
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    cut: () => {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    mend: () => (isCut = false),
    stop: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
