// A message as it was sent, with where each part of it came from: marked in the text, named on a card, and linked to the step
// that wrote it. One stop for the tab key; arrows move between the parts.

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { StepName } from '../source/types.ts';
import { type Piece, pieces, SOURCES, source } from '../spans.ts';
import { link } from '../state.ts';
import { brief, count, inline, place, several, visible } from '../text.ts';
import type { Message, Span } from '../trace.ts';
import { Copy, cut, FIRST, More } from './longtext.tsx';
import { Sign, WORDS } from './status.tsx';

/** As many parts are drawn at first. */
const PARTS = 250;

export type Names = ReadonlyMap<string, StepName>;

export const named = (name: StepName | undefined, key: string): string =>
  name ? `${inline(name.label)}${name.places ? ` (${name.places})` : ''}` : inline(key);

interface Shown {
  piece: Piece;
  text: string;
  index: number;
}

export function Prompt({ message, names, id }: { message: Message; names: Names; id: string }) {
  const content = message.content ?? '';
  const to = useSignal(FIRST);
  const most = useSignal(PARTS);
  const current = useSignal(0);
  const card = useSignal<{ index: number; pinned: boolean } | null>(null);
  const lit = useSignal<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const timer = useRef(0);

  const all = pieces(content, message.spans);
  const shown: Shown[] = [];
  let length = 0;
  for (const [index, piece] of all.entries()) {
    if (length >= to.value || index >= most.value) break;
    const room = to.value - length;
    const text = piece.text.length > room ? piece.text.slice(0, cut(piece.text, room)) : piece.text;
    shown.push({ piece, text, index });
    length += text.length;
  }
  const known = all.some((p) => p.span);
  const role = inline(message.role || 'message');

  const focus = (index: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, index));
    current.value = next;
    box.current?.querySelector<HTMLElement>(`[data-part="${next}"]`)?.focus();
  };
  const open = (index: number) => {
    clearTimeout(timer.current);
    if (!card.value?.pinned || card.value.index === index) card.value = { index, pinned: card.value?.pinned ?? false };
  };
  /** By pointer: what is passed over on the way to an open card does not take its place. */
  const hover = (index: number) => {
    clearTimeout(timer.current);
    if (card.value === null) open(index);
    else timer.current = setTimeout(() => open(index), 110) as unknown as number;
  };
  const close = (wait = 140) => {
    clearTimeout(timer.current);
    if (card.value?.pinned) return;
    timer.current = setTimeout(() => (card.value = null), wait) as unknown as number;
  };
  const keys = (e: KeyboardEvent) => {
    const acts: Record<string, () => void> = {
      ArrowRight: () => focus(current.value + 1),
      ArrowLeft: () => focus(current.value - 1),
      Home: () => focus(0),
      End: () => focus(shown.length - 1),
      Escape: () => (card.value = null),
    };
    const run = acts[e.key];
    if (!run || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Escape' && !card.value) return;
    e.preventDefault();
    run();
  };

  const cardId = `card-${id}`;
  return (
    <div class="message">
      <div class="message-head">
        <b class="role">{role}</b>
        <Legend all={all} lit={lit} />
        <Copy text={() => content} what={`the ${role} message`} />
      </div>
      <div
        ref={box}
        class={`text prompt${lit.value ? ' picking' : ''}`}
        dir="auto"
        role="group"
        aria-label={`${role} message${known ? `, ${several(all.length, 'part')}; arrow keys move between them` : ''}`}
        onKeyDown={keys}
        onMouseLeave={() => close()}
      >
        {content === '' && <i class="muted">empty</i>}
        {shown.map(({ piece, text, index }) => {
          const { span } = piece;
          const { mark, name } = source(span);
          const target = span?.step ?? null;
          const common = {
            'data-part': index,
            class: `part p-${known ? mark : 'plain'}${known && lit.value === name ? ' lit' : ''}${card.value?.index === index ? ' on' : ''}`,
            tabIndex: known ? (index === Math.min(current.value, shown.length - 1) ? 0 : -1) : undefined,
            'aria-describedby': card.value?.index === index ? cardId : undefined,
            onMouseEnter: () => known && hover(index),
            onMouseLeave: () => close(),
            onFocus: () => {
              current.value = index;
              open(index);
            },
            onBlur: () => close(0),
          };
          if (target && names.has(target)) {
            return (
              <a key={index} {...common} href={link(target)}>
                {visible(text)}
              </a>
            );
          }
          if (span?.from === 'input') {
            return (
              <a key={index} {...common} href="#run">
                {visible(text)}
              </a>
            );
          }
          if (!known) return visible(text);
          // Nothing to go to: a press keeps the card, so that its text can be copied.
          const pin = () => (card.value = card.value?.pinned && card.value.index === index ? null : { index, pinned: true });
          return (
            <span key={index} {...common} role="button" aria-expanded={card.value?.index === index} onClick={() => (getSelection()?.isCollapsed ?? true) && pin()} onKeyDown={(e) => {
                if (e.key === 'Enter' || e.key === ' ') {
                  e.preventDefault();
                  pin();
                }
              }}
            >
              {visible(text)}
            </span>
          );
        })}
      </div>
      <More seen={length} whole={content.length} more={(n) => {
          to.value = n;
          most.value = n >= content.length ? Infinity : most.value + PARTS * 4;
        }}
      />
      {card.value && shown[card.value.index] && (
        <Card
          id={cardId}
          shown={shown[card.value.index]!}
          names={names}
          anchor={() => box.current?.querySelector<HTMLElement>(`[data-part="${card.value?.index}"]`) ?? null}
          enter={() => clearTimeout(timer.current)}
          leave={() => close()}
        />
      )}
    </div>
  );
}

/** Which marks there are, and how much of the text each is. Pointing at one shows its parts. */
function Legend({ all, lit }: { all: Piece[]; lit: { value: string | null } }) {
  const kinds = new Map<string, { mark: string; says: string; n: number }>();
  for (const { span } of all) {
    if (!span) continue;
    const { mark, name, says } = source(span);
    const known = kinds.get(name);
    if (known) known.n += 1;
    else kinds.set(name, { mark, says, n: 1 });
  }
  if (kinds.size === 0) return <span class="legend muted">where it came from is not in this trace</span>;
  return (
    <ul class="legend" aria-label="Where the text came from">
      {[...kinds].map(([name, { mark, says, n }]) => (
        <li key={name} title={says} onMouseEnter={() => (lit.value = name)} onMouseLeave={() => (lit.value = null)}>
          <span class={`swatch p-${mark}`} aria-hidden="true">
            ab
          </span>
          {name}
          {n > 1 && <span class="muted"> ×{count(n)}</span>}
        </li>
      ))}
    </ul>
  );
}

interface CardProps {
  id: string;
  shown: Shown;
  names: Names;
  anchor: () => HTMLElement | null;
  enter: () => void;
  leave: () => void;
}

function Card({ id, shown, names, anchor, enter, leave }: CardProps) {
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
  }, [shown.index]);
  const { span } = shown.piece;
  return (
    <div ref={element} class="card" id={id} role="tooltip" onMouseEnter={enter} onMouseLeave={leave}>
      <Origin span={span} names={names} />
    </div>
  );
}

/** Where a part came from, in words. */
export function Origin({ span, names }: { span: Span | null; names: Names }) {
  if (!span) return <p class="from">where this came from is not in the trace</p>;
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
            <dt>by way of</dt>
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
