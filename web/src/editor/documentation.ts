// Markdown of the language server, as elements. Nothing is ever parsed as HTML: the policy of the page does not allow it.

import { lexer, type Token, type Tokens } from 'marked';

/** The elements of texts in Markdown. */
export function documentation(all: (string | { value: string })[]): HTMLElement {
  const box = document.createElement('div');
  box.className = 'about';
  for (const one of all) box.append(...nodes(lexer(typeof one === 'string' ? one : one.value)));
  return box;
}

const TAGS: Record<string, string> = { paragraph: 'p', strong: 'b', em: 'i', del: 's', blockquote: 'blockquote', list_item: 'li', heading: 'h4' };

function nodes(tokens: Token[]): Node[] {
  return tokens.flatMap((token) => node(token));
}

function node(token: Token): Node[] {
  switch (token.type) {
    case 'space':
      return [];
    case 'code': {
      const block = element('pre', []);
      block.textContent = token.text as string;
      return [block];
    }
    case 'codespan':
      return [element('code', [new Text(token.text as string)])];
    case 'br':
      return [element('br', [])];
    case 'hr':
      return [element('hr', [])];
    case 'list':
      return [element((token as Tokens.List).ordered ? 'ol' : 'ul', nodes((token as Tokens.List).items))];
    case 'link':
      // Links of the server lead into its folder, where a browser cannot go.
      return nodes(token.tokens ?? []);
  }
  const inner = 'tokens' in token && token.tokens ? nodes(token.tokens) : [new Text('text' in token ? String(token.text) : token.raw)];
  const tag = TAGS[token.type];
  return tag ? [element(tag, inner)] : inner;
}

function element(tag: string, children: Node[]): HTMLElement {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}
