// The words of two texts in one: what is long and the same is folded, and what is cut off can be asked for.

/** Both texts in one: what is the same, what only the first has, what only the second has; null: something is left out. */
export type WordPart = { same: string } | { removed: string } | { added: string } | null;

export type Piece =
  | { kind: 'same' | 'removed' | 'added'; text: string }
  /** Text that both have and that is not shown until somebody asks for it. */
  | { kind: 'fold'; text: string; lines: number };

/** Characters that are shown around a change, and lines; what is longer is folded. */
const AROUND = 160;
const LINES = 2;

/** The pieces of a comparison. A text that is the same before the first change keeps its end, after the last one its beginning. */
export function pieces(parts: WordPart[]): Piece[] {
  const all: Piece[] = [];
  parts.forEach((part, i) => {
    if (part === null) all.push({ kind: 'fold', text: '', lines: 0 });
    else if ('removed' in part) all.push({ kind: 'removed', text: part.removed });
    else if ('added' in part) all.push({ kind: 'added', text: part.added });
    else all.push(...folded(part.same, i > 0, i < parts.length - 1));
  });
  return all;
}

function folded(text: string, after: boolean, before: boolean): Piece[] {
  const head = after ? headOf(text) : 0;
  const tail = before ? tailOf(text) : text.length;
  const hidden = text.slice(head, tail);
  const lines = hidden.split('\n').length - 1;
  if (tail <= head || (lines < 2 && hidden.length < AROUND)) return text === '' ? [] : [{ kind: 'same', text }];
  const same = (part: string): Piece[] => (part === '' ? [] : [{ kind: 'same', text: part }]);
  return [...same(text.slice(0, head)), { kind: 'fold', text: hidden, lines }, ...same(text.slice(tail))];
}

/** Where the text beside a change ends: after some lines, or in a long line after some characters, between two words. */
function headOf(text: string): number {
  let end = 0;
  for (let line = 0; line <= LINES && end >= 0 && end < AROUND; line++) {
    const next = text.indexOf('\n', end);
    if (next < 0) return Math.min(text.length, wordEnd(text, AROUND));
    end = next + 1;
  }
  return end > AROUND * 2 ? wordEnd(text, AROUND) : end;
}

function tailOf(text: string): number {
  let start = text.length;
  for (let line = 0; line <= LINES && text.length - start < AROUND; line++) {
    const before = text.lastIndexOf('\n', start - 2);
    if (before < 0) return Math.max(0, text.length <= AROUND ? 0 : wordStart(text, text.length - AROUND));
    start = before + 1;
  }
  return text.length - start > AROUND * 2 ? wordStart(text, text.length - AROUND) : start;
}

function wordEnd(text: string, at: number): number {
  if (at >= text.length) return text.length;
  const space = text.indexOf(' ', at);
  return space < 0 || space > at + 40 ? at : space;
}

function wordStart(text: string, at: number): number {
  const space = text.lastIndexOf(' ', at);
  return space < 0 || space < at - 40 ? at : space + 1;
}

/** Of pieces, those whose texts are this long together. */
export function upTo(all: Piece[], length: number): { shown: Piece[]; rest: number } {
  const shown: Piece[] = [];
  let left = length;
  let rest = 0;
  for (const piece of all) {
    if (piece.kind === 'fold') {
      if (left > 0) shown.push(piece);
      continue;
    }
    if (left >= piece.text.length) shown.push(piece);
    else if (left > 0) shown.push({ ...piece, text: piece.text.slice(0, left) });
    rest += Math.max(0, piece.text.length - Math.max(0, left));
    left -= piece.text.length;
  }
  return { shown, rest };
}
