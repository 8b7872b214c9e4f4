// Runs as bars, oldest first. Each is a link to its run; a table beside it has the same in numbers.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { WORDS } from '../parts/status.tsx';
import { type HistoryRun, roundUp } from '../server/history.ts';
import { address, go } from '../server/route.ts';
import { brief, inline, moment } from '../text.ts';

interface ChartProps {
  title: string;
  /** Newest first. */
  runs: HistoryRun[];
  value: (run: HistoryRun) => number | null;
  shown: (value: number) => string;
}

/** Bars that are drawn: more could not be told apart. */
const MOST = 120;
const HEIGHT = 96;
const GAP = 18;

export function RunChart({ title, runs, value, shown }: ChartProps) {
  const at = useSignal<number | null>(null);
  const list = useRef<SVGSVGElement>(null);
  const bars = runs.slice(0, MOST).reverse();
  const top = roundUp(Math.max(1, ...bars.map((run) => value(run) ?? 0)));
  const wide = Math.min(34, 1000 / Math.max(1, bars.length));
  const height = (run: HistoryRun) => Math.max(2, ((value(run) ?? 0) / top) * HEIGHT);
  const chosen = at.value === null ? null : (bars[at.value] ?? null);
  const move = (to: number) => {
    at.value = Math.max(0, Math.min(bars.length - 1, to));
  };
  const keys = (e: KeyboardEvent) => {
    const now = at.value ?? bars.length - 1;
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: bars.length - 1 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      move(to);
    } else if (e.key === 'Enter' && chosen) go(address(['runs', chosen.run]));
  };
  const say = (run: HistoryRun) => {
    const number = value(run);
    return `${number === null ? 'not known' : shown(number)}, ${WORDS[run.status] ?? inline(run.status)}, ${moment(run.started)}${run.version ? `, version ${inline(run.version)}` : ''}, run ${brief(run.run, 8)}`;
  };
  // Where the version changes.
  const changes = bars.flatMap((run, i) => (i > 0 && bars[i - 1]!.version !== run.version ? [i] : []));
  return (
    <figure class="chart">
      <figcaption>
        <b>{title}</b>
        <span class="muted" aria-live="polite">
          {chosen ? say(chosen) : `${bars.length < runs.length ? `the last ${bars.length} runs` : 'all runs'}, oldest first`}
        </span>
      </figcaption>
      <svg
        ref={list}
        viewBox={`0 0 1000 ${HEIGHT + GAP}`}
        preserveAspectRatio="none"
        role="slider"
        tabIndex={0}
        aria-label={`${title} of each run: arrow keys move, Enter shows the run`}
        aria-valuemin={1}
        aria-valuemax={bars.length}
        aria-valuenow={(at.value ?? bars.length - 1) + 1}
        aria-valuetext={say(chosen ?? bars.at(-1)!)}
        onKeyDown={keys}
        onFocus={() => at.value === null && move(bars.length - 1)}
        onBlur={() => (at.value = null)}
        onPointerLeave={() => (at.value = null)}
      >
        {[0, 0.5, 1].map((part) => (
          <line key={part} class="grid" x1="0" x2="1000" y1={HEIGHT - part * HEIGHT + GAP / 2} y2={HEIGHT - part * HEIGHT + GAP / 2} />
        ))}
        {changes.map((i) => (
          <line key={i} class="version" x1={i * wide} x2={i * wide} y1="0" y2={HEIGHT + GAP / 2} />
        ))}
        {bars.map((run, i) => (
          <g key={run.run} class={`bar-of s-${run.status}${at.value === i ? ' on' : ''}${value(run) === null ? ' none' : ''}`} onPointerEnter={() => move(i)} onClick={() => go(address(['runs', run.run]))}>
            <rect class="hit" x={i * wide} y="0" width={wide} height={HEIGHT + GAP} />
            <rect x={i * wide + wide * 0.12} y={HEIGHT + GAP / 2 - height(run)} width={wide * 0.76} height={height(run)} />
            {run.status === 'failed' && <rect class="mark" x={i * wide + wide * 0.12} y={HEIGHT + GAP / 2 + 3} width={wide * 0.76} height="4" />}
          </g>
        ))}
      </svg>
      <p class="axis-of muted" aria-hidden="true">
        <span>{shown(top)}</span>
        <span>{shown(top / 2)}</span>
        <span>0</span>
      </p>
    </figure>
  );
}
