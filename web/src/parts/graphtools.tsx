// What is around the graph: its colours, the moment it shows, its size, and the whole of it in a corner.

import { useMemo } from 'preact/hooks';
import type { NodeState } from '../source/types.ts';
import type { State } from '../state.ts';
import { duration } from '../text.ts';
import type { Graph } from '../trace.ts';
import type { Sight } from './geometry.ts';

interface ToolsProps {
  state: State;
  heat: boolean;
  most: number;
  zoom: (factor: number) => void;
  fit: () => void;
}

export function Tools({ state, heat, most, zoom, fit }: ToolsProps) {
  const last = state.moments.length - 1;
  const moment = state.moment.value;
  return (
    <div class="tools">
      {!state.chosenNode && <div class="chips" role="group" aria-label="Colours show">
        <button type="button" aria-pressed={!heat} onClick={() => (state.heat.value = false)}>
          Status
        </button>
        <button type="button" aria-pressed={heat} onClick={() => (state.heat.value = true)}>
          Time
        </button>
      </div>}
      {heat && (
        <span class="scale" aria-label={`Colours from 0 to ${duration(most)}`} role="img">
          <span>0</span>
          {[1, 2, 3, 4, 5, 6, 7].map((n) => (
            <i key={n} class={`h-${n}`} />
          ))}
          <span>{duration(most)}</span>
        </span>
      )}
      {last > 1 && (
        <label class="scrub">
          <span class="sr">Time in the run</span>
          <input
            type="range"
            min={0}
            max={last}
            value={moment ?? last}
            aria-valuetext={moment === null ? 'the end of the run' : `${duration(state.moments[moment])} into the run`}
            onInput={(e) => {
              const at = Number(e.currentTarget.value);
              state.moment.value = at >= last ? null : at;
            }}
          />
          <output>{moment === null ? 'end' : duration(state.moments[moment])}</output>
        </label>
      )}
      <div class="chips zoom" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom out" onClick={() => zoom(0.8)}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.25)}>
          +
        </button>
        <button type="button" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  );
}

interface OverviewProps {
  graph: Graph;
  states: ReadonlyMap<string, NodeState>;
  sight: Sight;
  size: { width: number; height: number };
  go: (to: Sight) => void;
}

/** The whole graph in a corner, where not all of it is in sight. */
export function Overview({ graph, states, sight, size, go }: OverviewProps) {
  const paths = useMemo(() => {
    const by = new Map<string, string>();
    for (const n of graph.nodes) {
      const status = n.kind === 'start' || n.kind === 'end' ? 'idle' : (states.get(n.id)?.status ?? 'idle');
      by.set(status, `${by.get(status) ?? ''}M${n.x.toFixed(0)} ${n.y.toFixed(0)}h${n.width.toFixed(0)}v${n.height.toFixed(0)}h-${n.width.toFixed(0)}z`);
    }
    return [...by];
  }, [graph, states]);
  if (!size.width || (graph.width * sight.k <= size.width + 4 && graph.height * sight.k <= size.height + 4)) return null;
  const k = Math.min(110 / graph.width, Math.min(170, size.height * 0.45) / graph.height);
  const [width, height] = [graph.width * k, graph.height * k];
  const jump = (e: PointerEvent) => {
    if (e.buttons === 0) return;
    const rect = (e.currentTarget as Element).getBoundingClientRect();
    const at = { x: (e.clientX - rect.left) / k, y: (e.clientY - rect.top) / k };
    go({ k: sight.k, x: size.width / 2 - at.x * sight.k, y: size.height / 2 - at.y * sight.k });
  };
  return (
    <svg class="map" width={width} height={height} viewBox={`0 0 ${graph.width} ${graph.height}`} aria-hidden="true" onPointerDown={jump} onPointerMove={jump}>
      {paths.map(([status, d]) => (
        <path key={status} class={`s-${status}`} d={d} />
      ))}
      <rect class="here" x={-sight.x / sight.k} y={-sight.y / sight.k} width={size.width / sight.k} height={size.height / sight.k} />
    </svg>
  );
}
