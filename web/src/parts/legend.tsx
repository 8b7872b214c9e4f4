// What every sign means, and which keys there are. Opened by `?` or a button.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Sign } from './status.tsx';

const STATUSES: [string, string, string][] = [
  ['done', 'done, completed', 'It ended well.'],
  ['mixed', 'done, in part', 'It ended, and some of its items failed.'],
  ['failed', 'failed', 'It ended with an error.'],
  ['running', 'running', 'It goes on.'],
  ['waiting', 'waiting', 'It waits for an answer, a time or a permission.'],
  ['interrupted', 'interrupted, stopped', 'Its process ended before it did. It can be resumed.'],
  ['cancelled', 'cancelled', 'Somebody ended it.'],
  ['skipped', 'skipped', 'Its condition did not hold.'],
  ['pending', 'not started', 'It has not begun.'],
];
const ORIGINS: [string, string, string][] = [
  ['p-literal', 'manifest', 'stands in the manifest'],
  ['p-input', 'input', 'came with the input'],
  ['p-step', 'step', 'was written by another step'],
  ['p-env', 'environment', 'is a value of the environment, hidden if it is secret'],
  ['p-item', 'item', 'is the item of a fan-out, or its number'],
  ['p-run', 'run', 'belongs to the run, such as its id'],
  ['p-failure', 'failure', 'is the error of an earlier try'],
  ['p-other', 'other', 'came from elsewhere, or from several at once'],
];
const NUMBERS: [string, string][] = [
  ['$1.20+', 'at least this: the price of some calls is not known'],
  ['120 + ?', 'at least this: the tokens of some calls are not known'],
  ['-', 'nothing is known'],
  ['×3', 'how often a box of the graph ran'],
  ['kept', 'the result of an earlier run was used; nothing was paid'],
  ['→ skip', 'a failure that did not end the run, and what became of it'],
];
const KEYS: [string, string][] = [
  ['?', 'this list'],
  ['Tab', 'to the next part: the graph, the steps, a prompt'],
  ['↑ ↓ ← →', 'inside of a part: rows, boxes, words, values'],
  ['Enter', 'shows what is chosen'],
  ['+ − 0', 'in the graph: larger, smaller, all of it'],
  ['Esc', 'closes'],
];

export function LegendButton() {
  const dialog = useRef<HTMLDialogElement>(null);
  // Closed, nothing of it is in the page.
  const isOpen = useSignal(false);
  const show = () => {
    isOpen.value = true;
  };
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  }, [isOpen.value]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      const on = e.target as HTMLElement | null;
      if (e.key !== '?' || e.ctrlKey || e.metaKey || e.altKey || on?.closest('input, textarea, select, [contenteditable]')) return;
      e.preventDefault();
      if (isOpen.peek()) dialog.current?.close();
      else show();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
  return (
    <>
      <button type="button" class="quiet help-of" aria-label="What the signs mean" title="What the signs mean (?)" onClick={show}>
        ?
      </button>
      {isOpen.value && <LegendDialog dialog={dialog} closed={() => (isOpen.value = false)} />}
    </>
  );
}

function LegendDialog({ dialog, closed }: { dialog: { current: HTMLDialogElement | null }; closed: () => void }) {
  return (
    <dialog ref={dialog} class="signs" aria-label="Signs and keys" onClose={closed} onClick={(e) => e.target === dialog.current && dialog.current?.close()}>
      <div>
        <h2>
          Signs and keys
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </h2>
        <div class="columns">
          <section>
            <h3>How it stands</h3>
            <dl>
              {STATUSES.map(([status, word, says]) => (
                <div key={status}>
                  <dt>
                    <Sign status={status} /> <span class={`word s-${status}`}>{word}</span>
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
            </dl>
          </section>
          <section>
            <h3>Where a part of a prompt came from</h3>
            <dl>
              {ORIGINS.map(([kind, word, says]) => (
                <div key={kind}>
                  <dt>
                    <span class={`swatch ${kind}`}>{word}</span>
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
            </dl>
            <h3>Differences</h3>
            <dl class="words">
              <div>
                <dt>
                  <del>gone</del>
                </dt>
                <dd>only the first of both has it</dd>
              </div>
              <div>
                <dt>
                  <ins>new</ins>
                </dt>
                <dd>only the second has it</dd>
              </div>
            </dl>
          </section>
          <section>
            <h3>Numbers</h3>
            <dl>
              {NUMBERS.map(([sign, says]) => (
                <div key={sign}>
                  <dt>
                    <code>{sign}</code>
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
            </dl>
            <h3>Keys</h3>
            <dl>
              {KEYS.map(([key, says]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
            </dl>
          </section>
        </div>
      </div>
    </dialog>
  );
}
