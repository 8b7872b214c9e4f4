// A value that came back, as somebody wants to read it: as text, as Markdown, or as a tree. Which of them there are depends on the value.

import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { readable, shown } from '../text.ts';
import { JsonTree } from './jsontree.tsx';
import { Copy, LongText } from './longtext.tsx';
import { looksMarkdown, Markdown } from './markdown.tsx';

export type Form = 'text' | 'markdown' | 'json';
const NAMES: Record<Form, string> = { text: 'Text', markdown: 'Markdown', json: 'JSON' };

/** A longer text is not taken for JSON before somebody asks. */
const QUICK = 300_000;

/** The value in a text of JSON; undefined: it is none, or a plain one. */
export function parsed(text: string): unknown {
  const first = text.trimStart().charAt(0);
  if (first !== '{' && first !== '[') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** How a value can be shown, the best first. */
export function formsOf(value: unknown): Form[] {
  if (typeof value === 'object' && value !== null) return ['json', 'text'];
  if (typeof value !== 'string') return ['text'];
  const isJson = /^\s*[{[]/.test(value) && (value.length > QUICK || parsed(value) !== undefined);
  if (isJson) return value.length > QUICK ? ['text', 'json'] : ['json', 'text'];
  return looksMarkdown(value) ? ['text', 'markdown'] : ['text'];
}

/** What somebody chose last for texts with Markdown: the next one is shown so, too. */
const likesMarkdown = signal(false);

interface ValueProps {
  value: unknown;
  /** `Answer`. */
  label: string;
  /** What stands before the switch. */
  head: ComponentChildren;
  /** The class of the head. */
  headClass: string;
}

export function ValueView({ value, label, head, headClass }: ValueProps) {
  const chosen = useSignal<Form | null>(null);
  const forms = useMemo(() => formsOf(value), [value]);
  const wanted = chosen.value ?? (likesMarkdown.value && forms.includes('markdown') ? 'markdown' : forms[0]!);
  const form = forms.includes(wanted) ? wanted : forms[0]!;
  const choose = (to: Form) => {
    chosen.value = to;
    if (forms.includes('markdown')) likesMarkdown.value = to === 'markdown';
  };
  return (
    <>
      <div class={headClass}>
        {head}
        {forms.length > 1 && (
          <div class="chips forms" role="group" aria-label={`${label} as`}>
            {(['text', 'markdown', 'json'] as const)
              .filter((one) => forms.includes(one))
              .map((one) => (
                <button key={one} type="button" aria-pressed={one === form} onClick={() => choose(one)}>
                  {NAMES[one]}
                </button>
              ))}
          </div>
        )}
        <Copy text={() => shown(value)} what={`the ${label.toLowerCase()}`} />
      </div>
      <Content value={value} label={label} form={form} />
    </>
  );
}

function Content({ value, label, form }: { value: unknown; label: string; form: Form }) {
  const tree = useMemo(() => (form === 'json' ? (typeof value === 'string' ? parsed(value) : value) : undefined), [value, form]);
  if (form === 'markdown') return <Markdown text={String(value)} label={label} />;
  if (form === 'json') {
    if (tree !== undefined) return <JsonTree value={tree} label={label} />;
    return (
      <>
        <p class="muted">This text is no JSON.</p>
        <LongText text={String(value)} label={label} />
      </>
    );
  }
  return <LongText text={readable(value)} label={label} />;
}
