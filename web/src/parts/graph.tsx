// The graph of the program, coloured by how its steps went or by how long they took. Positions come from the trace; here it is
// only drawn, moved and zoomed. What is out of sight is not in the page.

import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { NodeState } from '../source/types.ts';
import type { State } from '../state.ts';
import { brief, count, duration, several } from '../text.ts';
import type { Graph as Drawn, GraphEdge, GraphNode } from '../trace.ts';
import { WORDS } from './status.tsx';

interface Sight {
  x: number;
  y: number;
  k: number;
}

/** Below this, letters cannot be read, so that the whole is not shown at once. */
const READABLE = 0.58;
const LEAST = 0.04;
const MOST = 3;
const IDLE: NodeState = { status: 'waiting', runs: 0, failed: 0, busy: 0 };

export function GraphPanel({ state }: { state: State }) {
  if (!state.graph) return null;
  return (
    <section class="panel graph" aria-label="Graph">
      <Canvas state={state} graph={state.graph} />
    </section>
  );
}

function Canvas({ state, graph }: { state: State; graph: Drawn }) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSignal({ width: 0, height: 0 });
  const sight = useSignal<Sight>({ x: 0, y: 0, k: 1 });
  const touched = useRef(false);
  const cursor = useSignal(graph.nodes[0]?.id ?? '');
  const focus = useRef(false);

  const nodes = useMemo(() => new Map(graph.nodes.map((n) => [n.id, n])), [graph]);
  const selected = useComputed(() => state.detail.value?.step.node ?? null);
  const frame = useComputed(() => state.detail.value?.step.frame ?? null);

  const clampTo = (next: Sight): Sight => {
    const { width, height } = size.peek();
    const k = Math.max(LEAST, Math.min(MOST, next.k));
    // Some of the graph always stays in sight.
    const keep = 60;
    return {
      k,
      x: Math.max(keep - graph.width * k, Math.min(width - keep, next.x)),
      y: Math.max(keep - graph.height * k, Math.min(height - keep, next.y)),
    };
  };
  const fit = (readable = false) => {
    const { width, height } = size.peek();
    if (!width || !height) return;
    let k = Math.min((width - 16) / graph.width, (height - 16) / graph.height, 1.15);
    const wide = Math.min((width - 16) / graph.width, 1);
    if (readable && k < READABLE) k = Math.max(READABLE, Math.min(wide, 0.9));
    const x = Math.max((width - graph.width * k) / 2, readable ? Math.min(8, (width - graph.width * k) / 2) : -Infinity);
    const y = graph.height * k > height ? 8 : (height - graph.height * k) / 2;
    sight.value = { k, x, y };
    const node = selected.peek() ?? (readable ? null : undefined);
    if (readable && node) show(node);
  };
  const zoom = (factor: number, at?: { x: number; y: number }) => {
    touched.current = true;
    const { width, height } = size.peek();
    const { x, y, k } = sight.peek();
    const to = Math.max(LEAST, Math.min(MOST, k * factor));
    const centre = at ?? { x: width / 2, y: height / 2 };
    sight.value = clampTo({ k: to, x: centre.x - ((centre.x - x) * to) / k, y: centre.y - ((centre.y - y) * to) / k });
  };
  const pan = (x: number, y: number) => {
    touched.current = true;
    const now = sight.peek();
    sight.value = clampTo({ ...now, x: now.x + x, y: now.y + y });
  };
  /** Moves as little as is needed to have a node in sight. */
  const show = (id: string) => {
    const node = nodes.get(id);
    const { width, height } = size.peek();
    if (!node || !width) return;
    const { x, y, k } = sight.peek();
    const left = node.x * k + x;
    const topEdge = node.y * k + y;
    const inside = left >= 8 && left + node.width * k <= width - 8 && topEdge >= 8 && topEdge + node.height * k <= height - 8;
    if (inside) return;
    sight.value = clampTo({ k, x: width / 2 - (node.x + node.width / 2) * k, y: height / 2 - (node.y + node.height / 2) * k });
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      const next = { width: element.clientWidth, height: element.clientHeight };
      const was = size.peek();
      if (was.width === next.width && was.height === next.height) return;
      size.value = next;
      if (!touched.current) fit(true);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    // A wheel handler of a component would be passive, and could not keep the page from zooming.
    const wheel = (e: WheelEvent) => {
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) {
        const rect = element.getBoundingClientRect();
        zoom(Math.exp(-e.deltaY / (e.deltaMode ? 8 : 240)), { x: e.clientX - rect.left, y: e.clientY - rect.top });
      } else pan(-(e.shiftKey ? e.deltaY : e.deltaX), -(e.shiftKey ? 0 : e.deltaY));
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener('wheel', wheel);
    };
  }, []);

  useSignalEffect(() => {
    const id = selected.value;
    if (!id) return;
    cursor.value = id;
    show(id);
  });

  useLayoutEffect(() => {
    if (!focus.current) return;
    focus.current = false;
    box.current?.querySelector<SVGGElement>('[data-cursor]')?.focus({ preventScroll: true });
  });

  const { width, height } = size.value;
  const { x, y, k } = sight.value;
  // What is in sight, and a little around it.
  const view = { left: -x / k - 80, top: -y / k - 80, right: (width - x) / k + 80, bottom: (height - y) / k + 80 };
  const seen = (r: { x: number; y: number; width: number; height: number }) =>
    r.x < view.right && r.x + r.width > view.left && r.y < view.bottom && r.y + r.height > view.top;
  const states = state.states.value;
  const most = Math.max(1, ...graph.nodes.map((n) => states.get(n.id)?.busy ?? 0));
  const heat = state.heat.value;
  const small = k < 0.42;

  const drag = (e: PointerEvent) => {
    if (e.button !== 0 || (e.target as Element).closest('.node, button, .map')) return;
    const start = { x: e.clientX, y: e.clientY, sight: sight.peek() };
    const element = e.currentTarget as HTMLElement;
    element.setPointerCapture(e.pointerId);
    const move = (m: PointerEvent) => {
      touched.current = true;
      sight.value = clampTo({ k: start.sight.k, x: start.sight.x + m.clientX - start.x, y: start.sight.y + m.clientY - start.y });
    };
    const end = () => {
      element.removeEventListener('pointermove', move);
      element.removeEventListener('pointerup', end);
      element.removeEventListener('pointercancel', end);
    };
    element.addEventListener('pointermove', move);
    element.addEventListener('pointerup', end);
    element.addEventListener('pointercancel', end);
  };

  const keys = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const steps: Record<string, [number, number]> = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const step = steps[e.key];
    const onNode = (e.target as Element).closest('.node') !== null;
    if (step && (e.shiftKey || !onNode)) pan(-step[0] * 80, -step[1] * 80);
    else if (step) {
      const next = neighbour(graph.nodes, nodes.get(cursor.peek()), step);
      if (next) {
        cursor.value = next.id;
        focus.current = true;
        show(next.id);
      }
    } else if (e.key === '+' || e.key === '=') zoom(1.25);
    else if (e.key === '-') zoom(0.8);
    else if (e.key === '0') fit();
    else return;
    e.preventDefault();
  };

  const choose = (id: string) => {
    cursor.value = id;
    void state.source.runsOf(id).then(([first]) => first && state.select(first));
  };

  return (
    <>
      <Tools state={state} heat={heat} most={most} zoom={zoom} fit={() => fit()} />
      <div
        ref={box}
        class={`canvas${small ? ' small' : ''}${heat ? ' heat' : ''}`}
        role="group"
        aria-label="Graph of the workflow. On a step, arrow keys go to the next one and Enter shows it. Plus and minus zoom, 0 fits, Shift with arrows moves."
        onPointerDown={drag}
        onKeyDown={keys}
        onDblClick={(e) => !(e.target as Element).closest('.node') && fit()}
      >
        <svg width="100%" height="100%">
          <defs>
            <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0 1L9 5L0 9z" class="tip" />
            </marker>
            <marker id="tip-failure" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0 1L9 5L0 9z" class="tip failure" />
            </marker>
          </defs>
          <g transform={`translate(${x} ${y}) scale(${k})`}>
            {(graph.frames ?? []).filter(seen).map((f) => {
              const at = states.get(f.id) ?? IDLE;
              return (
                <g key={f.id} class={`frame s-${at.status}${frame.value === f.id ? ' selected' : ''}`}>
                  <rect x={f.x} y={f.y} width={f.width} height={f.height} rx="8" />
                  {!small && (
                    <text x={f.title_x ?? f.x + f.width / 2} y={(f.title_y ?? f.y + 12) + 4} text-anchor="middle">
                      <tspan class="title">{brief(f.label, 80)}</tspan>
                      {f.note && <tspan dx="7">{brief(f.note, 80)}</tspan>}
                    </text>
                  )}
                </g>
              );
            })}
            {(graph.edges ?? []).filter((e) => seen(bounds(e))).map((e, i) => (
              <path
                key={`${e.from} ${e.to} ${i}`}
                class={`edge ${e.line ?? 'then'}${states.has(e.from) && states.has(e.to) ? '' : ' idle'}`}
                d={curve(e.points)}
                marker-end={e.line === 'failure' ? 'url(#tip-failure)' : 'url(#tip)'}
              />
            ))}
            {graph.nodes.filter(seen).map((n) => (
              <Node
                key={n.id}
                node={n}
                at={states.get(n.id) ?? IDLE}
                most={most}
                heat={heat}
                small={small}
                selected={selected.value === n.id}
                cursor={cursor.value === n.id}
                choose={choose}
                seen={(id) => (cursor.value = id)}
              />
            ))}
            {!small &&
              (graph.edges ?? []).map((e, i) =>
                e.label && e.label_at && seen({ x: e.label_at[0] - 40, y: e.label_at[1] - 8, width: 80, height: 16 }) ? (
                  <text key={i} class="edge-label" x={e.label_at[0]} y={e.label_at[1] + 4} text-anchor="middle">
                    {brief(e.label, 60)}
                  </text>
                ) : null,
              )}
          </g>
        </svg>
        <Map_ graph={graph} states={states} sight={sight.value} size={size.value} go={(to) => { touched.current = true; sight.value = clampTo(to); }} />
      </div>
    </>
  );
}

interface NodeProps {
  node: GraphNode;
  at: NodeState;
  most: number;
  heat: boolean;
  small: boolean;
  selected: boolean;
  cursor: boolean;
  choose: (id: string) => void;
  seen: (id: string) => void;
}

function Node({ node, at, most, heat, small, selected, cursor, choose, seen }: NodeProps) {
  const { x, y, width, height } = node;
  const [cx, cy] = [x + width / 2, y + height / 2];
  const outer = node.kind === 'start' || node.kind === 'end';
  const label = brief(node.label, Math.max(6, Math.floor((width - 12) / (small ? 8 : 6))));
  const warmth = at.runs === 0 ? 0 : Math.max(1, Math.ceil((at.busy / most) * 7));
  const notes = small ? [] : (node.notes ?? []).map((note) => brief(note, Math.max(8, Math.floor((width - 6) / 5))));
  const lines = 14 * 1.35 + notes.length * 11 * 1.35;
  const base = cy - lines / 2 + 14;
  const faults = at.failed > 0 && at.runs > 1 ? `${count(at.failed)} failed` : '';
  const others = [at.runs > 1 && `×${count(at.runs)}`, at.runs > 0 && at.status !== 'skipped' && duration(at.busy)].filter(Boolean).join(' · ');
  const badge = [faults, others].filter(Boolean).join(' · ');
  const called = label;
  // What is drawn comes first, as it is drawn: a name that is spoken finds its node.
  const said = outer
    ? `${called}, ${node.kind} of the workflow`
    : `${[called, ...notes, badge].filter(Boolean).join(' ')}, ${brief(node.kind, 20)}, ${WORDS[at.status] ?? at.status}${at.runs > 1 ? `, ${several(at.runs, 'run')}` : ''}`;
  const classes = `node k-${/^[a-z]+$/.test(node.kind) ? node.kind : 'other'} s-${outer ? 'outer' : at.status}${at.failed > 0 && at.failed < at.runs ? ' mixed' : ''}${heat ? ` h-${warmth}` : ''}${selected ? ' selected' : ''}${node.optional ? ' optional' : ''}`;
  const rx = outer ? height / 2 : node.kind === 'agent' || node.kind === 'human' ? 8 : 3;
  return (
    <g
      class={classes}
      role="button"
      // In SVG the name of the attribute is written like this.
      tabindex={cursor ? 0 : -1}
      data-cursor={cursor ? '' : undefined}
      data-node={node.id}
      aria-label={said}
      aria-pressed={selected}
      aria-disabled={at.runs === 0 ? true : undefined}
      onClick={() => choose(node.id)}
      onFocus={() => seen(node.id)}
      onKeyDown={(e) => {
        if (e.key !== 'Enter' && e.key !== ' ') return;
        e.preventDefault();
        choose(node.id);
      }}
    >
      {node.kind === 'choice' ? (
        <path class="box" d={`M${cx} ${y}L${x + width} ${cy}L${cx} ${y + height}L${x} ${cy}z`} />
      ) : (
        <rect class="box" x={x} y={y} width={width} height={height} rx={rx} />
      )}
      <text class="title" x={cx} y={small ? cy + 5 : base} text-anchor="middle">
        {/* The space parts the lines for those who read them as one text. */}
        {`${label} `}
      </text>
      {notes.map((note, i) => (
        <text key={i} class="note" x={cx} y={base + 14 * 0.35 + 11 + i * 11 * 1.35} text-anchor="middle">
          {`${note} `}
        </text>
      ))}
      {!outer && at.status !== 'waiting' && (
        <g class="sign" transform={`translate(${x - 7} ${y - 7})`}>
          <circle class="under" cx="8" cy="8" r="8" />
          <path d={SIGNS[at.status] ?? ''} />
        </g>
      )}
      {!outer && !small && badge && (
        <g class="badge">
          <rect x={x + width - badge.length * 5.6 - 4} y={y + height - 6} width={badge.length * 5.6 + 10} height="14" rx="7" />
          <text x={x + width - badge.length * 2.8 + 1} y={y + height + 4.5} text-anchor="middle">
            {faults && <tspan class="bad">{faults}</tspan>}
            {faults && others && ' · '}
            {others}
          </text>
        </g>
      )}
    </g>
  );
}

const SIGNS: Record<string, string> = {
  done: 'M4.4 8.3l2.4 2.4 4.8-5.2',
  failed: 'M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6',
  skipped: 'M5 8h6',
  stopped: 'M5.6 5.6h4.8v4.8H5.6z',
  running: 'M8 4.6V8l2.4 1.6',
  cancelled: 'M4.6 11.4l6.8-6.8',
};

interface ToolsProps {
  state: State;
  heat: boolean;
  most: number;
  zoom: (factor: number) => void;
  fit: () => void;
}

function Tools({ state, heat, most, zoom, fit }: ToolsProps) {
  const last = state.moments.length - 1;
  const moment = state.moment.value;
  return (
    <div class="tools">
      <div class="chips" role="group" aria-label="Colours show">
        <button type="button" aria-pressed={!heat} onClick={() => (state.heat.value = false)}>
          Status
        </button>
        <button type="button" aria-pressed={heat} onClick={() => (state.heat.value = true)}>
          Time
        </button>
      </div>
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
          <span class="sr">Moment of the run</span>
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

/** The whole graph in a corner, where not all of it is in sight. */
function Map_({ graph, states, sight, size, go }: { graph: Drawn; states: ReadonlyMap<string, NodeState>; sight: Sight; size: { width: number; height: number }; go: (to: Sight) => void }) {
  const paths = useMemo(() => {
    const by = new Map<string, string>();
    for (const n of graph.nodes) {
      const status = n.kind === 'start' || n.kind === 'end' ? 'waiting' : (states.get(n.id)?.status ?? 'waiting');
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

function bounds({ points, label_at }: GraphEdge): { x: number; y: number; width: number; height: number } {
  const all = label_at ? [...points, label_at] : points;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of all) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** A smooth line through the points, upright at each of them. */
export function curve(points: readonly [number, number][]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let d = `M${first[0]} ${first[1]}`;
  let [x0, y0] = first;
  for (const [x, y] of rest) {
    const middle = (y0 + y) / 2;
    d += `C${x0} ${middle} ${x} ${middle} ${x} ${y}`;
    [x0, y0] = [x, y];
  }
  return d;
}

/** The nearest node in a direction; sideways counts more than straight on. */
export function neighbour(nodes: readonly GraphNode[], from: GraphNode | undefined, [dx, dy]: [number, number]): GraphNode | null {
  if (!from) return nodes[0] ?? null;
  const centre = (n: GraphNode) => [n.x + n.width / 2, n.y + n.height / 2] as const;
  const [x, y] = centre(from);
  let best: GraphNode | null = null;
  let least = Infinity;
  for (const node of nodes) {
    if (node === from) continue;
    const [nx, ny] = centre(node);
    const ahead = (nx - x) * dx + (ny - y) * dy;
    const aside = Math.abs((nx - x) * dy) + Math.abs((ny - y) * dx);
    if (ahead <= 1 || aside > ahead * 4) continue;
    const cost = ahead + aside * 2;
    if (cost < least) [best, least] = [node, cost];
  }
  return best;
}

