// The card beside a part of a prompt: where it came from, in words.

import { useLayoutEffect, useRef } from 'preact/hooks';
import { SOURCES } from '../spans.ts';
import { brief, count, inline, place } from '../text.ts';
import type { Span } from '../trace.ts';
import { named, type Names } from './names.tsx';
import { Sign, WORDS } from './status.tsx';

interface CardProps {
  id: string;
  span: Span | null;
  part: number;
  names: Names;
  anchor: () => HTMLElement | null;
  enter: () => void;
  leave: () => void;
}

export function Card({ id, span, part, names, anchor, enter, leave }: CardProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const card = element.current;
    const target = anchor();
    if (!card || !target) return;
    // In the margin, where it covers no text; on narrow screens below. A part may be longer than the screen: its first line
    // in sight counts.
    const put = () => {
      const lines = [...target.getClientRects()];
      const line = lines.find((r) => r.bottom > 70) ?? lines[0];
      if (!line) return;
      const last = lines[lines.length - 1] ?? line;
      const { offsetWidth: width, offsetHeight: height } = card;
      const margin = (target.closest('.prompt') ?? target).getBoundingClientRect().left - width - 10;
      if (margin >= 8) {
        card.style.top = `${Math.max(8, Math.min(line.top - 8, innerHeight - height - 8))}px`;
        card.style.left = `${margin}px`;
        return;
      }
      const below = last.bottom + 6 + height < innerHeight ? last.bottom + 6 : line.bottom + 6;
      const top = below + height < innerHeight ? below : Math.max(8, line.top - height - 6);
      card.style.top = `${top}px`;
      card.style.left = `${Math.max(8, Math.min(line.left, innerWidth - width - 8))}px`;
    };
    put();
    addEventListener('scroll', put, true);
    addEventListener('resize', put);
    return () => {
      removeEventListener('scroll', put, true);
      removeEventListener('resize', put);
    };
  }, [part]);
  return (
    <div ref={element} class="card" id={id} role="tooltip" onMouseEnter={enter} onMouseLeave={leave}>
      <Origin span={span} names={names} />
    </div>
  );
}

/** Where a part came from, in words. */
function Origin({ span, names }: { span: Span | null; names: Names }) {
  if (!span) return <p class="from">the origin of this text is not in the trace</p>;
  const { name, mark, says } = SOURCES[span.from] ?? SOURCES['other']!;
  const writer = span.step ? names.get(span.step) : undefined;
  const at = place(span);
  const end = span.end_line != null && span.end_line !== span.line ? `–${span.end_line}` : '';
  return (
    <>
      <p class="from">
        <span class={`swatch p-${mark}`} aria-hidden="true">
          ab
        </span>
        <b>{name}</b>
        {span.step && (
          <span class="writer">
            {writer && <Sign status={writer.status} />}
            {named(writer, span.step)}
            {writer && writer.status !== 'done' && <span class="muted"> {WORDS[writer.status]}</span>}
          </span>
        )}
        {span.name && <code>{inline(span.name)}</code>}
        {!span.step && !span.name && !span.path && <span class="muted">{says}</span>}
      </p>
      <dl>
        {span.path && (
          <>
            <dt>name</dt>
            <dd>
              <code>{brief(span.path, 200)}</code>
            </dd>
          </>
        )}
        {span.member && span.member !== span.path && (
          <>
            <dt>part</dt>
            <dd>
              <code>{brief(span.member, 200)}</code>
            </dd>
          </>
        )}
        {span.steps && span.steps.length > 0 && (
          <>
            <dt>steps</dt>
            <dd>
              {span.steps
                .slice(0, 8)
                .map((key) => named(names.get(key), key))
                .join(', ')}
              {span.steps.length > 8 && ` and ${count(span.steps.length - 8)} more`}
            </dd>
          </>
        )}
        {(span.via ?? []).slice(0, 4).map((via) => (
          <>
            <dt>via</dt>
            <dd>
              <code>{brief(via.path ?? '', 120)}</code> {place(via) && <span class="muted">{place(via)}</span>}
            </dd>
          </>
        ))}
        {at && (
          <>
            <dt>at</dt>
            <dd class="place">
              {at}
              {end}
            </dd>
          </>
        )}
        {(span.from === 'env' || span.from === 'secret') && (
          <>
            <dt>value</dt>
            <dd>*** (never in a trace)</dd>
          </>
        )}
      </dl>
      {writer && <p class="hint">Enter or click: go to this step</p>}
      {span.from === 'input' && <p class="hint">Enter or click: show the input</p>}
    </>
  );
}
