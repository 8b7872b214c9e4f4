// A line of the list: name, times, tokens.

import type { Row } from '../source/types.ts';
import { link } from '../links.ts';
import type { State } from '../state.ts';
import { count, duration, inline, several } from '../text.ts';
import { type Axis, where } from './axis.ts';
import { handled, Sign, WORDS } from './status.tsx';

export function Line({ row, index, height, state, axis }: { row: Row; index: number; height: number; state: State; axis: Axis }) {
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
        <Sign status={row.mixed ? 'mixed' : row.status} handled={row.handled_as !== null} />
        <span class="sr">{WORDS[row.mixed ? 'mixed' : row.status] ?? inline(row.status)} </span>
        {row.group ? (
          <span class="label group">{label}</span>
        ) : (
          <a class="label" href={link(row.key)} tabIndex={-1} title={label}>
            {label}
          </a>
        )}
        {row.places && (
          <span class="places" title={row.places}>
            {row.places}
          </span>
        )}
        {!row.group && !row.parts && row.kind !== 'agent' && <span class="kind">{inline(row.kind).replaceAll('_', ' ')}</span>}
        {row.handled_as && (
          <span class="handled-as" title={handled(row.handled_as)}>
            → {inline(row.handled_as)}
          </span>
        )}
        {row.empty && <span class="tally">{several(0, 'item')}</span>}
        {row.parts && (row.parts.total > 12 || row.parts.failed > 0) && (
          <span class="tally">
            {row.parts.failed > 0 ? (
              <b>
                {count(row.parts.failed)} of {count(row.parts.total)} failed
              </b>
            ) : (
              several(row.parts.total, 'part')
            )}
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
        {row.status === 'skipped' ? '' : row.kept ? 'kept' : row.open_ended ? '…' : duration(row.end - row.start)}
      </span>
      <span class="tokens" role="gridcell">
        {row.tokens}
      </span>
    </div>
  );
}

function Bar({ row, axis }: { row: Row; axis: Axis }) {
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
function Strip({ row, axis }: { row: Row; axis: Axis }) {
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
