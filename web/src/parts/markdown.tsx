// Markdown as elements. A library cuts the text into tokens; what a token becomes is decided here, and nothing is ever set as HTML: tags in
// the text are shown as text, images are links, and links go only where a link may go.

import { Lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { bytes, several, visible } from '../text.ts';
import { LongText } from './longtext.tsx';

/** Longer texts are shown as they are: cutting them up takes too long. */
export const LONGEST = 100_000;
/** Of a longer paragraph, nothing is marked. */
const PARAGRAPH = 4_000;
/** How long texts are looked through, in milliseconds. */
const PATIENCE = 400;
/** Blocks that are shown at first. */
const BLOCKS = 150;
/** How deep lists and quotes may be in each other. */
const DEEP = 24;
const ROWS = 300;

/** Whether a text has what Markdown is written with. */
export function looksMarkdown(text: string): boolean {
  const start = text.slice(0, 20_000);
  return /^#{1,6} \S|^```|^ {0,3}[-*+] \S|^ {0,3}\d{1,3}[.)] \S|^\|.+\|\s*$|^> |\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)|`[^`\n]+`/m.test(start);
}

/** Where a link may go; null: nowhere. */
export function safeAddress(href: string): string | null {
  const text = href.trim();
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** The tokens of a text; null: it cannot be cut up. A paragraph that is very long stays one text, and so does what is left after a while:
 * the patterns of the library take time by the square of the length. */
export function lex(text: string): Token[] | null {
  if (text.length > LONGEST) return null;
  try {
    const lexer = new Lexer({ gfm: true, breaks: false, pedantic: false });
    const tokens = lexer.blockTokens(text.replace(/\r\n?/g, '\n'), lexer.tokens);
    const until = performance.now() + PATIENCE;
    // What is found in the text of one may be queued behind the others.
    const { inlineQueue } = lexer as unknown as { inlineQueue: { src: string; tokens: Token[] }[] };
    for (let i = 0; i < inlineQueue.length; i++) {
      const { src, tokens: into } = inlineQueue[i]!;
      if (src.length > PARAGRAPH || performance.now() > until) into.push({ type: 'text', raw: src, text: src, escaped: false } as Tokens.Text);
      else lexer.inlineTokens(src, into);
    }
    return tokens;
  } catch {
    // Quotes in quotes in quotes: deeper than the stack.
    return null;
  }
}

export function Markdown({ text, label }: { text: string; label: string }) {
  const most = useSignal(BLOCKS);
  const tokens = useMemo(() => lex(text), [text]);
  if (tokens === null) {
    return (
      <>
        <p class="muted">{text.length > LONGEST ? `This text of ${bytes(text.length)} is too long to be shown as Markdown.` : 'This text cannot be shown as Markdown.'}</p>
        <LongText text={text} label={label} />
      </>
    );
  }
  return (
    <>
      <div class="text markdown" dir="auto" role="group" aria-label={label} tabIndex={0}>
        {blocks(tokens.slice(0, most.value), 0)}
      </div>
      {tokens.length > most.value && (
        <p class="more">
          <button type="button" onClick={() => (most.value += BLOCKS * 4)}>
            {several(tokens.length - most.value, 'more part')}
          </button>
        </p>
      )}
    </>
  );
}

const blocks = (tokens: Token[], depth: number): ComponentChildren => tokens.map((token, i) => <Block key={i} token={token} depth={depth} />);

function Block({ token, depth }: { token: Token; depth: number }): ComponentChildren {
  if (depth > DEEP) return <p>{visible(token.raw)}</p>;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      const level = (token as Tokens.Heading).depth;
      return (
        <p class={`md-h md-h${level}`} role="heading" aria-level={Math.min(6, level + 3)}>
          {inlines(token.tokens, depth)}
        </p>
      );
    }
    case 'paragraph':
      return <p>{inlines(token.tokens, depth)}</p>;
    case 'code':
      return (
        <pre>
          <code>{visible((token as Tokens.Code).text)}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} depth={depth} />;
    case 'table':
      return <Table table={token as Tokens.Table} depth={depth} />;
    case 'hr':
      return <hr />;
    case 'text':
      return <>{token.tokens ? inlines(token.tokens, depth) : visible((token as Tokens.Text).text)}</>;
    default:
      // HTML, and what this page does not know.
      return <p>{visible(token.raw)}</p>;
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, i) => (
    <li key={i}>
      {item.task && <span aria-hidden="true">{item.checked ? '☑ ' : '☐ '}</span>}
      {item.task && <span class="sr">{item.checked ? 'done: ' : 'to do: '}</span>}
      {blocks(item.tokens.filter((token) => token.type !== 'checkbox'), depth + 1)}
    </li>
  ));
  return list.ordered ? <ol start={typeof list.start === 'number' ? list.start : 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const most = useSignal(ROWS);
  const side = (i: number) => (table.align[i] ? `md-${table.align[i]}` : undefined);
  return (
    <div class="md-table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, i) => (
              <th key={i} scope="col" class={side(i)}>
                {inlines(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, most.value).map((row, n) => (
            <tr key={n}>
              {row.map((cell, i) => (
                <td key={i} class={side(i)}>
                  {inlines(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > most.value && (
        <button type="button" class="quiet" onClick={() => (most.value += ROWS * 4)}>
          {several(table.rows.length - most.value, 'more row')}
        </button>
      )}
    </div>
  );
}

const inlines = (tokens: Token[] | undefined, depth: number): ComponentChildren => (tokens ?? []).map((token, i) => <Inline key={i} token={token} depth={depth} />);

function Inline({ token, depth }: { token: Token; depth: number }): ComponentChildren {
  if (depth > DEEP) return <>{visible(token.raw)}</>;
  const inside = () => inlines((token as Tokens.Generic).tokens, depth + 1);
  switch (token.type) {
    case 'strong':
      return <strong>{inside()}</strong>;
    case 'em':
      return <em>{inside()}</em>;
    case 'del':
      return <s>{inside()}</s>;
    case 'codespan':
      return <code>{visible((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link href={(token as Tokens.Link).href}>{inside()}</Link>;
    case 'image': {
      const { href, text } = token as Tokens.Image;
      return <Link href={href}>{`image: ${visible(text || href)}`}</Link>;
    }
    case 'escape':
      return <>{visible((token as Tokens.Escape).text)}</>;
    case 'text':
      return <>{(token as Tokens.Generic).tokens ? inside() : visible(unescaped((token as Tokens.Text).text))}</>;
    default:
      return <>{visible(token.raw)}</>;
  }
}

/** The signs that the library may write as entities. */
const unescaped = (text: string): string => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? '');

/** A link says where it goes. One that may not go there is text with its address. */
function Link({ href, children }: { href: string; children: ComponentChildren }) {
  const to = safeAddress(href);
  if (to === null) {
    return (
      <>
        {children} <span class="muted">({visible(href)})</span>
      </>
    );
  }
  return (
    <a href={to} target="_blank" rel="noreferrer noopener" title={visible(to)}>
      {children}
    </a>
  );
}
