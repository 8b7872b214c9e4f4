// The graph of the program, coloured by how its steps went or by how long they took. Positions come from the trace; here it is
// only drawn, moved and zoomed. What is out of sight is not in the page.

import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { NodeState } from '../source/types.ts';
import type { State } from '../state.ts';
import { brief } from '../text.ts';
import type { Graph as Drawn } from '../trace.ts';
import { bounds, curve, heading, neighbour, type Sight } from './geometry.ts';
import { Overview, Tools } from './graphtools.tsx';
import { Node } from './node.tsx';

/** Below this, letters cannot be read, so that the whole is not shown at once. */
const READABLE = 0.58;
const LEAST = 0.04;
const MOST = 3;
const IDLE: NodeState = { status: 'idle', runs: 0, failed: 0, busy: 0 };

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
    // Where it begins is in sight, unless a step is chosen.
    const node = selected.peek() ?? (graph.nodes.find((n) => n.kind === 'start') ?? graph.nodes[0])?.id;
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
    void state.source.runsOf(id).then(([first]) => {
      const node = nodes.get(id);
      if (first) state.select(first);
      else if (node) state.chosenNode?.(node);
    });
  };

  return (
    <>
      <Tools state={state} heat={heat} most={most} zoom={zoom} fit={() => fit()} />
      <div
        ref={box}
        class={`canvas${small ? ' small' : ''}${heat ? ' heat' : ''}`}
        role="group"
        aria-label="Graph of the workflow. On a step, arrow keys go to the next one and Enter shows it. Plus and minus zoom, 0 fits the graph, Shift with arrow keys pans."
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
                    <text text-anchor="middle">
                      {heading(f).map(({ text, strong, x, y }, i) => (
                        <tspan key={i} class={strong ? 'title' : undefined} x={x} y={y}>
                          {`${text} `}
                        </tspan>
                      ))}
                    </text>
                  )}
                </g>
              );
            })}
            {(graph.edges ?? []).filter((e) => seen(bounds(e))).map((e, i) => (
              <path
                key={`${e.from} ${e.to} ${i}`}
                class={`edge ${e.line ?? 'then'}${state.chosenNode || (states.has(e.from) && states.has(e.to)) ? '' : ' idle'}`}
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
                plain={state.chosenNode !== null}
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
        <Overview graph={graph} states={states} sight={sight.value} size={size.value} go={(to) => { touched.current = true; sight.value = clampTo(to); }} />
      </div>
    </>
  );
}
