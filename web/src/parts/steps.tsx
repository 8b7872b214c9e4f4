// The list of steps with a waterfall of times: a tree grid of which only the rows in sight are in the page.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Row } from '../source/types.ts';
import type { State } from '../state.ts';
import { count, inline, several, tick } from '../text.ts';
import type { Status } from '../trace.ts';
import { marks, TURN, where } from './axis.ts';
import { Line } from './row.tsx';
import { Sign, WORDS } from './status.tsx';

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
            {several(steps, 'step')}
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
    void state.revision.value;
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

  // Rows came before the chosen one: what is in sight stays.
  useSignalEffect(() => {
    const { rows: by } = state.moved.value;
    const element = scroller.current;
    if (by === 0 || !element || element.scrollTop === 0) return;
    element.scrollTop += by * height.current;
    top.value = element.scrollTop;
  });

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
  const narrow = width.value < 480;
  // About as wide as the style sheet makes the column of bars.
  const pixels = narrow ? Math.max(60, (width.value - 68) * 0.4) : Math.max(90, (width.value - 138) * 0.44);
  const shownMarks = marks(axis, narrow ? 2 : 4, pixels, tick);
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
              {shownMarks.map((ms) => (
                <i key={ms} class={where(ms, axis) > TURN ? 'tick last' : 'tick'} style={{ left: `${where(ms, axis)}%` }}>
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
            {state.overview.steps === 0 ? 'No step started in this run.' : 'No step matches.'}
          </p>
        )}
      </div>
    </div>
  );
}
