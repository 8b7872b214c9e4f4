// A box of the graph: what it is, how its steps went, and how often and how long.

import type { NodeState } from '../source/types.ts';
import { brief, count, duration, several } from '../text.ts';
import type { GraphNode } from '../trace.ts';
import { SHAPES, WORDS } from './status.tsx';

interface NodeProps {
  node: GraphNode;
  at: NodeState;
  most: number;
  heat: boolean;
  small: boolean;
  selected: boolean;
  cursor: boolean;
  /** There is no run: a box is what it is, and can be chosen. */
  plain: boolean;
  choose: (id: string) => void;
  seen: (id: string) => void;
}

export function Node({ node, at, most, heat, small, selected, cursor, plain, choose, seen }: NodeProps) {
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
  const mixed = at.failed > 0 && at.failed < at.runs;
  // What is drawn comes first, as it is drawn: a name that is spoken finds its node.
  const said = outer
    ? `${[called, ...notes].join(' ')}, ${node.kind} of the workflow`
    : plain
    ? `${[called, ...notes].join(' ')}, ${brief(node.kind, 20)}`
    : `${[called, ...notes, badge].filter(Boolean).join(' ')}, ${brief(node.kind, 20)}, ${WORDS[mixed ? 'mixed' : at.status] ?? at.status}${at.runs > 1 ? `, ${several(at.runs, 'run')}` : ''}`;
  const classes = `node k-${/^[a-z]+$/.test(node.kind) ? node.kind : 'other'} s-${outer ? 'outer' : plain ? 'plain' : at.status}${mixed ? ' mixed' : ''}${heat ? ` h-${warmth}` : ''}${selected ? ' selected' : ''}${node.optional ? ' optional' : ''}`;
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
      aria-disabled={(plain ? outer : at.runs === 0) ? true : undefined}
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
      {!outer && at.status !== 'idle' && (
        <g class="sign" transform={`translate(${x - 7} ${y - 7})`}>
          <circle class="under" cx="8" cy="8" r="8" />
          <path d={SHAPES[mixed ? 'mixed' : at.status] ?? ''} />
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
