// Two texts in one. What is gone is struck through, what is new is underlined, and both are said to screen readers.

import { useSignal } from '@preact/signals';
import { FIRST } from '../parts/longtext.tsx';
import { count, several, visible } from '../text.ts';
import { pieces, type Piece, upTo, type WordPart } from '../words.ts';

export function Words({ parts, label }: { parts: WordPart[]; label: string }) {
  const length = useSignal(FIRST);
  const { shown, rest } = upTo(pieces(parts), length.value);
  return (
    <>
      <div class="text words" dir="auto" role="group" aria-label={label} tabIndex={0}>
        {shown.map((piece, i) => (piece.kind === 'fold' ? <Fold key={i} piece={piece} /> : <Changed key={i} piece={piece} />))}
      </div>
      {rest > 0 && (
        <p class="more">
          <span>{count(rest)} more characters.</span>
          <button type="button" onClick={() => (length.value += 64_000)}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}

function Changed({ piece }: { piece: Exclude<Piece, { kind: 'fold' }> }) {
  const text = visible(piece.text);
  if (piece.kind === 'same') return <>{text}</>;
  // A change of nothing but space would not be seen.
  const marked = text.trim() === '' ? text.replaceAll(' ', '·').replaceAll('\t', '→').replaceAll('\n', '⏎\n') : text;
  const isGone = piece.kind === 'removed';
  const Tag = isGone ? 'del' : 'ins';
  return (
    <Tag>
      <span class="sr">{isGone ? ' [gone: ' : ' [new: '}</span>
      {marked}
      <span class="sr">] </span>
    </Tag>
  );
}

function Fold({ piece }: { piece: Extract<Piece, { kind: 'fold' }> }) {
  const open = useSignal(false);
  if (open.value) return <>{visible(piece.text)}</>;
  const says = piece.lines > 1 ? `${several(piece.lines, 'line')} the same` : `${several(piece.text.length, 'character')} the same`;
  if (piece.text === '') return <span class="muted"> … </span>;
  return (
    <>
      <button type="button" class="unfold" onClick={() => (open.value = true)}>
        … {says}
      </button>
      {piece.text.endsWith('\n') && '\n'}
    </>
  );
}
