// The graph of a flow: moved, zoomed and walked as that of a run. A step that is chosen is shown in the plan.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { GraphPanel } from '../parts/graph.tsx';
import { ask } from '../server/api.ts';
import { InlineSource } from '../source/inline.ts';
import { State } from '../state.ts';
import type { Graph, Trace } from '../trace.ts';
import { Failed } from './common.tsx';

interface GraphProps {
  flow: string;
  /** Somebody has chosen the step at this place. */
  choose: (file: string, line: number) => void;
}

export function FlowGraph({ flow, choose }: GraphProps) {
  const state = useSignal<State | null>(null);
  const failed = useSignal<unknown>(null);
  useEffect(() => {
    const gone = new AbortController();
    const open = async () => {
      const graph = await ask<Graph>(`/flows/${encodeURIComponent(flow)}/graph?format=json`, { signal: gone.signal });
      const made = await State.open(new InlineSource({ steps: [], graph } as unknown as Trace));
      if (gone.signal.aborted) return made.close();
      made.chosenNode = (node) => node.file && node.line && choose(node.file, node.line);
      state.value = made;
    };
    open().catch((why: unknown) => !gone.signal.aborted && (failed.value = why));
    return () => {
      gone.abort();
      state.peek()?.close();
    };
  }, [flow]);
  return (
    <>
      <Failed why={failed.value} what="The graph cannot be drawn." />
      {state.value && (
        <div class="flow-graph">
          <GraphPanel state={state.value} />
        </div>
      )}
    </>
  );
}
