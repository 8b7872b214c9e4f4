// Streams of events (server-sent events) over `fetch`, which, unlike `EventSource`, can send a key.

import { NoAnswer, send } from './api.ts';

export interface Frame {
  id: string | null;
  event: string;
  data: string;
}

/** The server sends a comment every 15 seconds: after so long without anything, the connection is gone. */
const SILENCE = 40_000;

/** Reads a stream to its end. It fails where the connection does. */
export async function follow(path: string, after: string | null, take: (frame: Frame) => void, signal: AbortSignal): Promise<void> {
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (after !== null) headers['last-event-id'] = after;
  const silent = new AbortController();
  const both = AbortSignal.any([signal, silent.signal]);
  let timer = setTimeout(() => silent.abort(), SILENCE);
  try {
    const response = await send(path, { headers, signal: both });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    if (!reader) return;
    const parser = new FrameParser(take);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENCE);
      parser.push(value);
    }
  } catch (why) {
    if (signal.aborted || !(why instanceof TypeError || silent.signal.aborted)) throw why;
    throw new NoAnswer('the connection was lost');
  } finally {
    clearTimeout(timer);
  }
}

/** Cuts a stream into frames. */
export class FrameParser {
  #rest: string[] = [];
  #frame: Frame = { id: null, event: 'message', data: '' };
  readonly #take: (frame: Frame) => void;

  constructor(take: (frame: Frame) => void) {
    this.#take = take;
  }

  push(text: string) {
    // A long line comes in many parts, which are joined once.
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#rest.push(text.slice(from, end));
      from = end + 1;
      const line = this.#rest.join('');
      this.#rest = [];
      this.#line(line.endsWith('\r') ? line.slice(0, -1) : line);
    }
    if (from < text.length) this.#rest.push(text.slice(from));
  }

  #line(line: string) {
    if (line === '') {
      if (this.#frame.data !== '') this.#take(this.#frame);
      this.#frame = { id: null, event: 'message', data: '' };
      return;
    }
    const at = line.indexOf(':');
    if (at === 0) return;
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (name === 'id') this.#frame.id = value;
    else if (name === 'event') this.#frame.event = value;
    else if (name === 'data') this.#frame.data += this.#frame.data === '' ? value : `\n${value}`;
  }
}
