// The most that a run may cost, as somebody types it.

import type { Signal } from '@preact/signals';

/** The dollars that a text means: none where nothing is typed, and NaN where it means none. */
export function dollarsOf(text: string): number | null {
  if (text.trim() === '') return null;
  const value = Number(text);
  return value > 0 ? value : Number.NaN;
}

export function DollarLimit({ text, changed }: { text: Signal<string>; changed?: () => void }) {
  const isWrong = Number.isNaN(dollarsOf(text.value) ?? 0);
  return (
    <label class="limit">
      Limit in dollars{' '}
      <input
        type="text"
        inputMode="decimal"
        placeholder="none"
        aria-invalid={isWrong || undefined}
        value={text.value}
        onInput={(e) => {
          text.value = e.currentTarget.value;
          changed?.();
        }}
      />
      {isWrong && <span class="word s-failed"> a number above 0</span>}
    </label>
  );
}
