// The list of steps with a waterfall of times: a tree grid of which only the rows in sight are in the page.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Row } from '../source/types.ts';
import { link, type State } from '../state.ts';
import { count, duration, inline, several, tick } from '../text.ts';
import type { Status } from '../trace.ts';
import { handled, Sign, WORDS } from './status.tsx';

const OVER = 8;
const rowHeight = (): number => (matchMedia('(pointer: coarse)').matches ? 40 : 28);

export function Steps({ state }: { state: State }) {
  return (
    <section class="panel steps" aria-label="Steps">
      <Tools state={state} />
      <Grid state={state} />
    </section>
  );
}

function Tools({ state }: { state: State }) {
  const { statuses, steps } = state.overview;
  const view = state.view.value;
  const timer = useRef(0);
  const field = useRef<HTMLInputElement>(null);
  const look = (words: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void state.filter({ words }), 120) as unknown as number;
  };
  // The filter may be cleared from elsewhere.
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = view.words;
  }, [view.words]);
  const kinds = Object.entries(statuses) as [Status, number][];
  const zoomed = state.axis.value[0] !== 0 || state.axis.value[1] !== state.whole()[1];
  return (
    <div class="tools">
      <input
        ref={field}
        type="search"
        id="search"
        placeholder="Search steps, prompts, answers"
        aria-label="Search steps, prompts and answers"
        autocomplete="off"
        spellcheck={false}
        onInput={(e) => look(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape' && e.currentTarget.value) {
            e.currentTarget.value = '';
            void state.filter({ words: '' });
          } else if (e.key === 'ArrowDown' || e.key === 'Enter') {
            e.preventDefault();
            state.wanted.value = { row: 0, focus: true };
          }
        }}
      />
      {kinds.length > 1 && (
        <div class="chips" role="group" aria-label="Show only">
          <button type="button" aria-pressed={view.status === null} onClick={() => void state.filter({ status: null })}>
            All {count(steps)}
          </button>
          {kinds.map(([status, n]) => (
            <button
              key={status}
              type="button"
              aria-pressed={view.status === status}
              onClick={() => void state.filter({ status: view.status === status ? null : status })}
            >
              <Sign status={status} />
              {count(n)} {WORDS[status] ?? inline(status)}
            </button>
          ))}
        </div>
      )}
      {zoomed && (
        <button type="button" class="quiet" onClick={() => (state.axis.value = state.whole())}>
          Whole run
        </button>
      )}
    </div>
  );
}

/** Round numbers at which the axis gets a line. */
export function ticks([from, to]: [number, number], most: number): number[] {
  const raw = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.75) ?? raw;
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && out.length <= most + 2; at += step) out.push(at);
  return out;
}

function Grid({ state }: { state: State }) {
  const scroller = useRef<HTMLDivElement>(null);
  const height = useRef(rowHeight());
  const top = useSignal(0);
  const room = useSignal(900);
  const width = useSignal(600);
  const shown = useSignal<[number, Row][]>([]);
  const focusOn = useRef<number | null>(null);
  const rows = state.size.value.rows;
  const cursor = state.cursor.value;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => {
      room.value = element.clientHeight || 900;
      width.value = element.clientWidth || 600;
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // The rows in sight, and the one that has the keyboard wherever it is.
  useSignalEffect(() => {
    const view = state.view.value;
    const all = state.size.value.rows;
    const at = Math.min(state.cursor.value, all - 1);
    const from = Math.max(0, Math.floor(top.value / height.current) - OVER);
    const to = Math.min(all, Math.ceil((top.value + room.value) / height.current) + OVER);
    const alone = at >= 0 && (at < from || at >= to);
    void Promise.all([state.source.rows(view, from, to), alone ? state.source.rows(view, at, at + 1) : []]).then(([got, kept]) => {
      if (state.view.peek() !== view) return;
      const next: [number, Row][] = got.map((row, i) => [from + i, row]);
      if (kept[0]) next.push([at, kept[0]]);
      shown.value = next;
    });
  });

  const reach = (row: number) => {
    const element = scroller.current;
    if (!element) return;
    const y = row * height.current;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + height.current > element.scrollTop + element.clientHeight) {
      element.scrollTop = y + height.current - element.clientHeight;
    }
    top.value = element.scrollTop;
  };

  useSignalEffect(() => {
    const wanted = state.wanted.value;
    if (!wanted) return;
    state.cursor.value = wanted.row;
    if (wanted.focus) focusOn.current = wanted.row;
    const element = scroller.current;
    // Somewhere else entirely: into the middle, with what is around it.
    const y = wanted.row * height.current;
    if (element && !wanted.focus && (y < element.scrollTop || y + height.current > element.scrollTop + element.clientHeight)) {
      element.scrollTop = y - element.clientHeight / 2;
    }
    reach(wanted.row);
  });

  useLayoutEffect(() => {
    if (focusOn.current === null) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${focusOn.current}"]`);
    if (!row) return;
    focusOn.current = null;
    row.focus({ preventScroll: true });
  });

  const move = (to: number) => {
    const row = Math.max(0, Math.min(rows - 1, to));
    // Signals tell their effects later; what follows must know now.
    state.cursor.value = row;
    state.wanted.value = { row, focus: true };
    void state.source.rows(state.view.peek(), row, row + 1).then(([next]) => {
      if (next && !next.group && state.cursor.peek() === row) state.select(next.key, true);
    });
  };

  const keys = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const row = shown.value.find(([i]) => i === cursor)?.[1];
    const page = Math.max(1, Math.floor(room.value / height.current) - 1);
    const acts: Record<string, () => void> = {
      ArrowDown: () => move(cursor + 1),
      ArrowUp: () => move(cursor - 1),
      PageDown: () => move(cursor + page),
      PageUp: () => move(cursor - page),
      Home: () => move(0),
      End: () => move(rows - 1),
      ArrowRight: () => {
        if (row?.open === false) void state.toggle(row.key);
        else if (row?.open) move(cursor + 1);
      },
      ArrowLeft: () => {
        if (row?.open) void state.toggle(row.key);
        else if (row && row.level > 1) void outer(row).then((at) => at !== null && move(at));
      },
      Enter: () => row && act(row),
      ' ': () => row && act(row),
      '/': () => document.getElementById('search')?.focus(),
    };
    const run = acts[e.key];
    if (!run) return;
    e.preventDefault();
    run();
  };

  /** The nearest row above that is less deep. */
  const outer = async (row: Row): Promise<number | null> => {
    for (let to = cursor; to > 0; to -= 200) {
      const from = Math.max(0, to - 200);
      const above = await state.source.rows(state.view.peek(), from, to);
      const found = above.findLastIndex((r) => r.level < row.level);
      if (found >= 0) return from + found;
    }
    return null;
  };

  const act = (row: Row) => {
    if (row.group) void state.toggle(row.key);
    else {
      state.select(row.key);
    }
  };

  const axis = state.axis.value;
  const at = state.at.value;
  return (
    <div class="grid" role="treegrid" aria-label="Steps of the run" aria-rowcount={rows + 1} aria-colcount={4} onKeyDown={keys}>
      <div class="head" role="rowgroup">
        <div class="row" role="row" aria-rowindex={1}>
          <span role="columnheader" class="name">
            Step
          </span>
          <span role="columnheader" class="bars">
            <span class="sr">When</span>
            <span aria-hidden="true">
              {ticks(axis, width.value < 480 ? 2 : 4).map((ms) => (
                <i key={ms} class={where(ms, axis) > 80 ? 'tick last' : 'tick'} style={{ left: `${where(ms, axis)}%` }}>
                  {tick(ms)}
                </i>
              ))}
            </span>
          </span>
          <span role="columnheader" class="time">
            Time
          </span>
          <span role="columnheader" class="tokens">
            Tokens
          </span>
        </div>
      </div>
      <div class="scroll" role="rowgroup" ref={scroller} onScroll={(e) => (top.value = e.currentTarget.scrollTop)}>
        <div class="all" role="presentation" style={{ height: `${rows * height.current}px` }}>
          {at !== null && (
            <div class="rule-area" aria-hidden="true">
              <i class="rule" style={{ left: `${Math.max(0, Math.min(100, where(at, axis)))}%` }} />
            </div>
          )}
          {shown.value.map(([index, row]) => (
            <Line key={row.key} row={row} index={index} height={height.current} state={state} axis={axis} />
          ))}
        </div>
        {rows === 0 && (
          <p class="none" role="presentation">
            {state.overview.steps === 0 ? 'No step began in this run.' : 'No step matches.'}
          </p>
        )}
      </div>
    </div>
  );
}

const where = (ms: number, [from, to]: [number, number]): number => ((ms - from) / (to - from)) * 100;

function Line({ row, index, height, state, axis }: { row: Row; index: number; height: number; state: State; axis: [number, number] }) {
  const selected = state.key.value === row.key;
  const current = state.cursor.value === index;
  const label = inline(row.label) || '(no name)';
  const say = (e: MouseEvent) => {
    state.cursor.value = index;
    // The link in the row goes to the step on its own.
    if ((e.target as Element).closest('a, .twist')) return;
    if (row.group) void state.toggle(row.key);
    else state.select(row.key);
  };
  return (
    <div
      class={`row${selected ? ' selected' : ''}${row.faint ? ' faint' : ''}`}
      role="row"
      data-row={index}
      aria-rowindex={index + 2}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.open ?? undefined}
      aria-selected={selected}
      tabIndex={current ? 0 : -1}
      style={{ top: `${index * height}px`, height: `${height}px` }}
      onClick={say}
    >
      <span class="name" role="gridcell" style={{ paddingLeft: `${10 + Math.min(row.level - 1, 12) * 14}px` }}>
        <span
          class={`twist${row.open === null ? ' leaf' : ''}`}
          aria-hidden="true"
          onClick={() => row.open !== null && void state.toggle(row.key)}
        >
          {row.open === null ? '' : <svg viewBox="0 0 10 10"><path d={row.open ? 'M2 3.5l3 3 3-3' : 'M3.5 2l3 3-3 3'} /></svg>}
        </span>
        <Sign status={row.status} handled={row.handled_as !== null} />
        <span class="sr">{WORDS[row.status] ?? inline(row.status)} </span>
        {row.group ? (
          <span class="label group">{label}</span>
        ) : (
          <a class="label" href={link(row.key)} tabIndex={-1} title={label}>
            {label}
          </a>
        )}
        {row.places && <span class="places">{row.places}</span>}
        {!row.group && !row.parts && row.kind !== 'agent' && <span class="kind">{inline(row.kind).replaceAll('_', ' ')}</span>}
        {row.handled_as && (
          <span class="handled-as" title={handled(row.handled_as)}>
            → {inline(row.handled_as)}
          </span>
        )}
        {row.parts && (row.parts.total > 12 || row.parts.failed > 0) && (
          <span class="tally">
            {several(row.parts.total, 'part')}
            {row.parts.failed > 0 && <b>, {count(row.parts.failed)} failed</b>}
          </span>
        )}
      </span>
      <span class="bars" role="gridcell">
        <span class="sr">from {duration(row.start)}</span>
        <span class="track" aria-hidden="true">
          <Bar row={row} axis={axis} />
        </span>
      </span>
      <span class="time" role="gridcell">
        {row.status === 'skipped' ? '' : row.open_ended ? '…' : duration(row.end - row.start)}
      </span>
      <span class="tokens" role="gridcell">
        {row.tokens}
      </span>
    </div>
  );
}

function Bar({ row, axis }: { row: Row; axis: [number, number] }) {
  const box = (start: number, end: number) => {
    const left = Math.max(-1, where(start, axis));
    const right = Math.min(101, where(end, axis));
    return { left: `${left}%`, width: `max(3px, ${Math.max(0, right - left)}%)` };
  };
  if (row.status === 'skipped') return null;
  if (where(row.end, axis) < 0 || where(row.start, axis) > 100) return null;
  const structure = row.open !== null;
  return (
    <>
      <i class={`bar s-${row.status}${structure ? ' structure' : ''}`} style={box(row.start, row.end)} />
      {row.calls.length > 1 &&
        row.calls.map(([start, end, bad], i) => <i key={i} class={`bar call ${bad ? 's-failed' : `s-${row.status}`}`} style={box(start, end)} />)}
      {row.parts && <Strip row={row} axis={axis} />}
    </>
  );
}

/** Where in time the failed parts of a closed row ended: one path however many there are. */
function Strip({ row, axis }: { row: Row; axis: [number, number] }) {
  const seen = new Set<number>();
  for (const [, end, status] of row.parts?.spans ?? []) if (status === 'failed') seen.add(Math.round(where(end, axis) * 4));
  if (seen.size === 0) return null;
  const d = [...seen].filter((x) => x >= 0 && x <= 400).map((x) => `M${x} 0v10`).join('');
  return (
    <svg class="strip" viewBox="0 0 400 10" preserveAspectRatio="none">
      <path d={d} />
    </svg>
  );
}
