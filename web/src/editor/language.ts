// The language server of Trefoil, over a websocket: what it finds, completes and explains.

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { LSPClient, LSPPlugin, serverDiagnostics, type Transport } from '@codemirror/lsp-client';
import { EditorState, type Extension } from '@codemirror/state';
import { hoverTooltip, type EditorView, type Tooltip } from '@codemirror/view';
import { documentation } from './documentation.ts';
import type { LanguageState } from './types.ts';

/** The first pause before another try, and the longest one. */
const PAUSE = 1_000;
const LONGEST = 15_000;
/** The code of a socket that was refused for good: the key may not, or there are too many. */
const POLICY = 1008;

interface Position {
  line: number;
  character: number;
}
interface Range {
  start: Position;
  end: Position;
}
type Marked = string | { value: string };
interface Item {
  label: string;
  detail?: string;
  sortText?: string;
  filterText?: string;
  kind?: number;
  documentation?: Marked;
  textEdit?: { newText: string; range: Range };
  insertText?: string;
}

/** One connection for all editors of a view. It is made again when it breaks. */
export class LanguageService {
  readonly #open: () => WebSocket;
  readonly #told: (state: LanguageState) => void;
  #client: LSPClient | null = null;
  #socket: WebSocket | null = null;
  readonly #editors = new Map<(extension: Extension) => void, string>();
  #closed = false;
  #pause = PAUSE;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(open: () => WebSocket, told: (state: LanguageState) => void) {
    this.#open = open;
    this.#told = told;
    this.#connect();
  }

  /** Serves an editor. Returns what ends that. */
  attach(use: (extension: Extension) => void, path: string): () => void {
    this.#editors.set(use, path);
    if (this.#client) use(this.#extension(this.#client, path));
    return () => this.#editors.delete(use);
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  #connect() {
    this.#told('connecting');
    const socket = this.#open();
    this.#socket = socket;
    const heard = new Set<(message: string) => void>();
    socket.onmessage = (event: MessageEvent<string>) => heard.forEach((one) => one(event.data));
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      const transport: Transport = {
        send: (message) => socket.readyState === WebSocket.OPEN && socket.send(withoutPull(message)),
        subscribe: (one) => void heard.add(one),
        unsubscribe: (one) => void heard.delete(one),
      };
      const client = new LSPClient({ rootUri: 'file:///', timeout: 20_000, extensions: [serverDiagnostics()] });
      client.connect(transport);
      client.initializing.then(
        () => {
          if (this.#socket !== socket || this.#closed) return;
          this.#client = client;
          this.#pause = PAUSE;
          this.#told('ready');
          for (const [use, path] of this.#editors) use(this.#extension(client, path));
        },
        () => socket.close(),
      );
    };
    socket.onclose = (event) => {
      if (this.#socket !== socket) return;
      this.#client?.disconnect();
      this.#client = null;
      for (const use of this.#editors.keys()) use([]);
      if (this.#closed) return;
      const refused = event.code === POLICY;
      this.#told(refused || (!wasOpen && this.#pause >= LONGEST) ? 'refused' : 'lost');
      if (refused) return;
      this.#timer = setTimeout(() => this.#connect(), this.#pause);
      this.#pause = Math.min(LONGEST, this.#pause * 2);
    };
  }

  #extension(client: LSPClient, path: string): Extension {
    return [client.plugin(uriOf(path), 'yaml'), EditorState.languageData.of(() => [{ autocomplete: complete }]), hoverTooltip(explain)];
  }
}

/** The client says that it asks for diagnostics itself, and does not: a server would wait for that. */
function withoutPull(message: string): string {
  if (!message.includes('"method":"initialize"')) return message;
  const request = JSON.parse(message) as { params: { capabilities: { textDocument?: { diagnostic?: unknown } } } };
  delete request.params.capabilities.textDocument?.diagnostic;
  return JSON.stringify(request);
}

const uriOf = (path: string): string => `file:///${path.split('/').map(encodeURIComponent).join('/')}`;

function offset(state: EditorState, { line, character }: Position): number {
  const found = state.doc.line(Math.min(line + 1, state.doc.lines));
  return Math.min(found.to, found.from + character);
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const plugin = context.view && LSPPlugin.get(context.view);
  if (!plugin) return null;
  const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
  if (!context.explicit && !/[\w.{"'/:|-]/.test(before)) return null;
  plugin.client.sync();
  const params = { position: plugin.toPosition(context.pos), textDocument: { uri: plugin.uri }, context: { triggerKind: 1 } };
  const found = await plugin.client.request<unknown, { items: Item[] } | Item[] | null>('textDocument/completion', params);
  const items = Array.isArray(found) ? found : (found?.items ?? []);
  if (items.length === 0 || context.aborted) return null;
  const range = items[0]?.textEdit?.range;
  const word = context.state.wordAt(context.pos);
  const from = range ? offset(context.state, range.start) : (word?.from ?? context.pos);
  const to = range ? offset(context.state, range.end) : context.pos;
  const options = items.map((item): Completion => {
    const about = item.documentation;
    return {
      label: item.filterText ?? item.label,
      displayLabel: item.label,
      apply: item.textEdit?.newText ?? item.insertText ?? item.label,
      ...(item.detail ? { detail: item.detail } : {}),
      ...(item.sortText ? { sortText: item.sortText } : {}),
      ...(about ? { info: () => documentation([about]) } : {}),
    };
  });
  return { from, to, options, validFor: /^[\w.-]*$/ };
}

async function explain(view: EditorView, at: number): Promise<Tooltip | null> {
  const plugin = LSPPlugin.get(view);
  if (!plugin) return null;
  plugin.client.sync();
  const params = { position: plugin.toPosition(at), textDocument: { uri: plugin.uri } };
  const found = await plugin.client.request<unknown, { contents: Marked | Marked[]; range?: Range } | null>('textDocument/hover', params);
  if (!found) return null;
  const { contents, range } = found;
  return {
    pos: range ? offset(view.state, range.start) : at,
    ...(range ? { end: offset(view.state, range.end) } : {}),
    above: true,
    create: () => ({ dom: documentation(Array.isArray(contents) ? contents : [contents]) }),
  };
}
