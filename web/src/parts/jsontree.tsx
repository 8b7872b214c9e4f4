// A value as a tree that is opened part by part. Only what is open is in the page, and of a long list only its beginning. One tab stop;
// arrow keys move between the parts and open and close them.

import { useSignal, type Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { bytes, count, inline, several, visible } from '../text.ts';

/** Children that are shown at first, and more of them. */
export const CHILDREN = 100;
const MORE = 1_000;
/** Characters of a text that are shown at first. */
const TEXT = 400;
/** A part with so few children is open at first, if it is not deep. */
const FEW = 12;

type Container = Record<string, unknown> | unknown[];
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

/** How many children a value has. Their names are listed only when somebody looks. */
function sizeOf(value: Container): number {
  if (Array.isArray(value)) return value.length;
  let n = 0;
  for (const _ in value) n += 1;
  return n;
}

/** The first children, by name or by number. */
export function childrenOf(value: Container, most: number): [string, unknown][] {
  if (Array.isArray(value)) return value.slice(0, most).map((child, i): [string, unknown] => [String(i), child]);
  const all: [string, unknown][] = [];
  for (const name in value) {
    if (all.length >= most) break;
    all.push([name, value[name]]);
  }
  return all;
}

export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const root = useRef<HTMLDivElement>(null);
  /** The part that has the tab stop. */
  const at = useSignal('');
  const keys = (e: KeyboardEvent) => {
    const box = root.current;
    const now = document.activeElement;
    if (!box || !(now instanceof HTMLElement) || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = [...box.querySelectorAll<HTMLElement>('[data-at]')];
    const index = all.indexOf(now);
    if (index < 0) return;
    const expanded = now.getAttribute('aria-expanded');
    const move = (to: number) => all[Math.max(0, Math.min(all.length - 1, to))]?.focus();
    const acts: Record<string, () => void> = {
      ArrowDown: () => move(index + 1),
      ArrowUp: () => move(index - 1),
      Home: () => move(0),
      End: () => move(all.length - 1),
      ArrowRight: () => (expanded === 'false' ? now.click() : move(index + 1)),
      ArrowLeft: () => {
        if (expanded === 'true') return now.click();
        const above = now.closest('ul')?.closest('li')?.querySelector<HTMLElement>('[data-at]');
        (above ?? all[0])?.focus();
      },
    };
    const act = acts[e.key];
    if (!act) return;
    e.preventDefault();
    act();
  };
  return (
    <div class="text tree" role="group" aria-label={label} ref={root} onKeyDown={keys} onFocusIn={(e) => (at.value = (e.target as HTMLElement).dataset['at'] ?? at.peek())}>
      {isContainer(value) ? <Part name={null} value={value} path="" depth={0} at={at} /> : <Leaf value={value} />}
    </div>
  );
}

interface PartProps {
  name: string | null;
  value: Container;
  path: string;
  depth: number;
  at: Signal<string>;
  /** Whether there are few beside it. */
  few?: boolean;
}

function Part({ name, value, path, depth, at, few = true }: PartProps) {
  const size = sizeOf(value);
  const open = useSignal(depth === 0 || (few && depth < 3 && size <= FEW));
  const most = useSignal(CHILDREN);
  const kind = Array.isArray(value) ? several(size, 'item') : several(size, 'member');
  if (size === 0) {
    return (
      <>
        <Name name={name} />
        <span class="j-none">{Array.isArray(value) ? '[]' : '{}'}</span>
      </>
    );
  }
  return (
    <>
      <button type="button" class="fold" data-at={path} tabIndex={at.value === path ? 0 : -1} aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        <svg viewBox="0 0 10 10" aria-hidden="true">
          <path d={open.value ? 'M2 3.5l3 3 3-3' : 'M3.5 2l3 3-3 3'} />
        </svg>
        {name !== null && <span class="j-name">{inline(name)}</span>}
        <span class="j-size">{kind}</span>
        {!open.value && <span class="j-hint">{hint(value)}</span>}
      </button>
      {open.value && (
        <ul>
          {childrenOf(value, most.value).map(([child, inner]) => (
            <li key={child}>
              {isContainer(inner) ? (
                <Part name={child} value={inner} path={`${path}/${child}`} depth={depth + 1} at={at} few={size <= FEW} />
              ) : (
                <>
                  <Name name={child} />
                  <Leaf value={inner} />
                </>
              )}
            </li>
          ))}
          {size > most.value && (
            <li>
              <button type="button" class="unfold" data-at={`${path}/…`} tabIndex={at.value === `${path}/…` ? 0 : -1} onClick={() => (most.value += MORE)}>
                {count(size - most.value)} more
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}

const Name = ({ name }: { name: string | null }) => (name === null ? null : <span class="j-name">{inline(name)}: </span>);

/** What is in a closed part, in a few words. */
function hint(value: Container): string {
  const words = childrenOf(value, 4).map(([name, child]) => {
    const said = isContainer(child) ? '…' : inline(String(child).slice(0, 24));
    return Array.isArray(value) ? said : `${inline(name.slice(0, 24))}: ${said}`;
  });
  return words.every((word) => word === '…') ? '' : inline(words.join(', ').slice(0, 90));
}

/** A text as it reads, a number, a word. */
function Leaf({ value }: { value: unknown }) {
  const whole = useSignal(false);
  if (typeof value !== 'string') return <span class={`j-${value === null || value === undefined ? 'none' : typeof value}`}>{String(value)}</span>;
  if (value === '') return <span class="j-none">empty text</span>;
  const isLong = value.length > TEXT;
  const shown = whole.value || !isLong ? value.slice(0, 200_000) : value.slice(0, TEXT);
  return (
    <span class={`j-text${value.includes('\n') ? ' lines' : ''}`} dir="auto">
      {visible(shown)}
      {isLong && !whole.value && (
        <button type="button" class="unfold" onClick={() => (whole.value = true)}>
          … {bytes(value.length)}
        </button>
      )}
    </span>
  );
}
