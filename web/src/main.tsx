// Shows the trace that is embedded in the page.

import { render } from 'preact';
import { App, Broken, Guard } from './parts/app.tsx';
import { InlineSource } from './source/inline.ts';
import { State } from './state.ts';
import type { Trace } from './trace.ts';

async function start(root: HTMLElement) {
  const element = document.getElementById('trace');
  const trace = JSON.parse(element?.textContent ?? 'null') as Trace | null;
  // Parsed, the text is needed no longer.
  element?.replaceChildren();
  if (!trace || typeof trace !== 'object') throw new Error('the page contains no trace');
  if (trace.version !== 2) throw new Error(`the trace has version ${String(trace.version)}, but this page supports only version 2`);
  const state = await State.open(new InlineSource(trace));
  // What stood here while a large trace was read.
  root.replaceChildren();
  render(
    <Guard>
      <App state={state} />
    </Guard>,
    root,
  );
}

const root = document.getElementById('app');
if (root) start(root).catch((e: unknown) => {
  root.replaceChildren();
  render(<Broken why={e instanceof Error ? e.message : String(e)} />, root);
});
