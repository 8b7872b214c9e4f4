// Long texts: the beginning at once, the rest when asked for, so that a megabyte of prompt does not hold up the page.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { bytes, count, visible } from '../text.ts';

/** As much as is shown at first, in UTF-16 units. */
export const FIRST = 8_000;
const MORE = 64_000;

/** Offers more of a text of which `seen` are shown. */
export function More({ seen, whole, more }: { seen: number; whole: number; more: (to: number) => void }) {
  if (seen >= whole) return null;
  return (
    <p class="more">
      <span>{count(whole - seen)} more characters.</span>
      {whole - seen > MORE && (
        <button type="button" onClick={() => more(seen + MORE)}>
          Show {count(MORE)}
        </button>
      )}
      <button type="button" onClick={() => more(whole)}>
        Show all ({bytes(whole)})
      </button>
    </p>
  );
}

/** Cut between two characters, never inside of one. */
export function cut(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return at < text.length && code >= 0xd800 && code < 0xdc00 ? at - 1 : at;
}

export function LongText({ text, label }: { text: string; label: string }) {
  const to = useSignal(FIRST);
  const end = text.length <= to.value ? text.length : cut(text, to.value);
  return (
    <>
      <div class="text" dir="auto" role="group" aria-label={label} tabIndex={0}>
        {text === '' ? <i class="muted">empty</i> : visible(text.slice(0, end))}
      </div>
      <More seen={end} whole={text.length} more={(n) => (to.value = n)} />
    </>
  );
}

/** Copies a text as it is, not as it is shown. */
export function Copy({ text, what, children }: { text: () => string; what: string; children?: ComponentChildren }) {
  const done = useSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      const area = document.createElement('textarea');
      area.value = text();
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    done.value = true;
    setTimeout(() => (done.value = false), 1500);
  };
  return (
    <button type="button" class="quiet" aria-label={`Copy ${what}`} onClick={copy}>
      {done.value ? 'Copied' : (children ?? 'Copy')}
    </button>
  );
}
