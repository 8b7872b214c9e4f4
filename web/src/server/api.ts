// Requests to the server. The key is only in the memory of this page: never in its address, and in nothing that outlives it.

import { signal } from '@preact/signals';

/** Why a request failed (RFC 9457). */
export interface ProblemBody {
  status: number;
  code: string;
  detail: string;
  help?: string;
  errors?: { rule: string; severity: string; message: string; file?: string | null; line?: number | null; column?: number | null; help?: string | null }[];
  retry_after?: number;
}

export class Problem extends Error {
  readonly body: ProblemBody;
  constructor(body: ProblemBody) {
    super(body.detail);
    this.body = body;
  }
}

/** There was no answer: the server, or the way to it, is away. */
export class NoAnswer extends Error {}

export interface Me {
  name: string;
  needs_key: boolean;
  scopes: ('read' | 'run' | 'answer' | 'admin')[];
  flows?: string[];
  all_runs: boolean;
  /** Whether files can be saved. */
  edit?: boolean;
}

let key: string | null = null;

/** Who this is to the server; none: nobody yet. */
export const me = signal<Me | null>(null);
/** Why a key is asked for; none: it is not. */
export const asksForKey = signal<string | null>(null);

/** Whether something may be done. */
export const may = (scope: Me['scopes'][number]): boolean => me.value?.scopes.includes(scope) ?? false;

export interface Asked {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request to the API and gives its answer, whatever it is. */
export async function send(path: string, { method = 'GET', body, headers = {}, signal }: Asked = {}): Promise<Response> {
  const all: Record<string, string> = { ...headers };
  if (key !== null) all['authorization'] = `Bearer ${key}`;
  if (body !== undefined) all['content-type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(`api/v1${path}`, {
      method,
      headers: all,
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (why) {
    if (signal?.aborted) throw why;
    throw new NoAnswer('the server does not answer');
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.body.status === 401) {
    asksForKey.value = problem.body.code === 'KEY_UNKNOWN' ? 'The key is unknown or was revoked.' : 'This server needs a key.';
  }
  throw problem;
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text().catch(() => '');
  try {
    const body = JSON.parse(text) as ProblemBody;
    if (typeof body.detail === 'string') return new Problem({ ...body, status: response.status });
  } catch {
    // Not from the server itself: a proxy.
  }
  return new Problem({ status: response.status, code: `HTTP_${response.status}`, detail: `the server answered with status ${response.status}` });
}

/** Opens a websocket of the API. A browser sends no headers with it, so the key is one of the protocols that it offers. */
export function openSocket(path: string, protocol: string): WebSocket {
  const address = new URL(`api/v1${path}`, location.href.replace(/[?#].*$/, ''));
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  const offered = [protocol];
  if (key !== null) offered.push(`trefoil.key.${btoa(key).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`);
  return new WebSocket(address, offered);
}

/** The JSON of an answer. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const response = await send(path, asked);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch {
    throw new NoAnswer('the answer of the server was cut off');
  }
}

/** Finds out who this is. */
export async function introduce(): Promise<void> {
  me.value = await ask<Me>('/me');
  asksForKey.value = null;
}

/** Uses a key from now on, if the server knows it. */
export async function logIn(given: string): Promise<void> {
  const before = key;
  key = given;
  try {
    await introduce();
  } catch (why) {
    key = before;
    throw why;
  }
}

/** Forgets the key. */
export function logOut() {
  key = null;
  me.value = null;
  asksForKey.value = 'The key is forgotten.';
}

/** A key by which the server recognizes a request that is sent again. Works without a secure context, too. */
export function newRequestKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What to say of a failure. */
export function describe(why: unknown): string {
  if (why instanceof Problem) return why.body.help ? `${why.body.detail}. ${why.body.help}` : why.body.detail;
  return why instanceof Error ? why.message : String(why);
}
