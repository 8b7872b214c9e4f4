// A message as it was sent, with where each part of it came from: marked in the text, named on a card, and linked to the step
// that wrote it. One stop for the tab key; arrows move between the parts.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { type Piece, pieces, source } from '../spans.ts';
import { link, runLink } from '../links.ts';
import { count, inline, several, visible } from '../text.ts';
import type { Message } from '../trace.ts';
import { Card } from './card.tsx';
import { Copy, cut, FIRST, More } from './longtext.tsx';
import type { Names } from './names.tsx';

/** As many parts are drawn at first. */
const PARTS = 250;

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
        {content === '' && !message.calls?.length && <i class="muted">empty</i>}
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
              <a key={index} {...common} href={runLink()}>
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
      {message.calls?.map((call) => (
        <div class="text prompt" key={call.id}>
          <span class="muted">calls </span>
          {visible(call.name)} {visible(JSON.stringify(call.arguments))}
        </div>
      ))}
      {card.value && shown[card.value.index] && (
        <Card
          id={cardId}
          span={shown[card.value.index]!.piece.span}
          part={card.value.index}
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
  if (kinds.size === 0) return <span class="legend muted">the origin is not in this trace</span>;
  return (
    <ul class="legend" aria-label="Origin of the text">
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
