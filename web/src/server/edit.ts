// The edit of a run's files: the texts as they are typed, the prompts that they would send, and what a run of them would keep.

import { computed, signal } from '@preact/signals';
import { InlineSource } from '../source/inline.ts';
import type { Trace } from '../trace.ts';
import { ask, newRequestKey, Problem, may } from './api.ts';
import type { EditedFile, FlowChecks, ForkPreview, RunDetail, RunSummary } from './types.ts';

/** How long nobody has to type before it is looked at what the edit means, in milliseconds. */
const QUIET = 350;

/** What an edit means. Of a text with a mistake, what is known is that of the last one without. */
export interface EditMeaning {
  prompts: InlineSource;
  trace: Trace;
  /** None: the key may not run it. */
  fork: ForkPreview | null;
}

/** Edits outlive the view, but not the page. */
const kept = new Map<string, Map<string, string>>();

/** The text of a file in the folder; none: it is not there. */
export const diskText = (file: EditedFile): string | null => file.current_text ?? (file.on_disk === 'same' ? file.text : null);

export class EditStore {
  readonly run: string;
  readonly files = signal<EditedFile[] | null>(null);
  readonly detail = signal<RunDetail | null>(null);
  readonly failed = signal<unknown>(null);
  /** The texts that somebody has typed. */
  readonly drafts;
  readonly meaning = signal<EditMeaning | null>(null);
  /** Grows when texts are replaced by something else than typing. */
  readonly replaced = signal(0);
  /** Of each file, the version in the folder that somebody has seen: only that one is written over. */
  readonly seen = signal<ReadonlyMap<string, string>>(new Map());
  /** The prompts of the run as it was. */
  readonly before = signal<InlineSource | null>(null);
  /** Why the texts as they are mean nothing; none: they do. */
  readonly mistake = signal<unknown>(null);
  /** Whether the server is asked. */
  readonly asks = signal(false);
  /** The last run of one step alone: what it has is kept, too. */
  readonly tried = signal<{ run: string; step: string } | null>(null);
  #unedited: Trace | null = null;
  #gone = new AbortController();
  #turn = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #key = newRequestKey();

  /** The files that are not as they were when the run started. */
  readonly changed = computed(() => {
    const files: Record<string, string> = {};
    for (const file of this.files.value ?? []) {
      const draft = this.drafts.value.get(file.path);
      if (draft !== undefined && draft !== file.text) files[file.path] = draft;
    }
    return files;
  });
  readonly isEdited = computed(() => Object.keys(this.changed.value).length > 0);

  constructor(run: string) {
    this.run = run;
    this.drafts = signal<ReadonlyMap<string, string>>(kept.get(run) ?? new Map());
  }

  readonly #leave = (event: BeforeUnloadEvent) => {
    if (this.isEdited.peek()) event.preventDefault();
  };

  async open() {
    addEventListener('beforeunload', this.#leave);
    try {
      const path = `/runs/${encodeURIComponent(this.run)}`;
      const signal = this.#gone.signal;
      const [files, detail] = await Promise.all([
        ask<{ files: EditedFile[] }>(`${path}/files`, { signal }),
        ask<RunDetail>(path, { signal }),
      ]);
      this.detail.value = detail;
      this.#unedited = await ask<Trace>(`${path}/prompts`, { method: 'POST', body: {}, signal });
      this.before.value = new InlineSource(this.#unedited);
      this.files.value = files.files;
      await this.#look();
    } catch (why) {
      if (!this.#gone.signal.aborted) this.failed.value = why;
    }
  }

  close() {
    removeEventListener('beforeunload', this.#leave);
    this.#gone.abort();
    this.#turn.abort();
    clearTimeout(this.#timer);
  }

  textOf(file: EditedFile): string {
    return this.drafts.value.get(file.path) ?? file.text;
  }

  write(path: string, text: string) {
    const drafts = new Map(this.drafts.peek());
    drafts.set(path, text);
    this.drafts.value = drafts;
    kept.set(this.run, drafts);
    this.#key = newRequestKey();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), QUIET);
  }

  /** Takes all edits back. */
  revert() {
    for (const file of this.files.peek() ?? []) if (this.drafts.peek().has(file.path)) this.write(file.path, file.text);
    this.replaced.value += 1;
  }

  /** Takes the text that is in the folder now. */
  takeDisk(file: EditedFile) {
    this.write(file.path, diskText(file) ?? file.text);
    this.replaced.value += 1;
    this.saw(file);
  }

  /** Somebody has seen what is in the folder now. */
  saw(file: EditedFile) {
    if (file.version !== undefined) this.seen.value = new Map(this.seen.peek()).set(file.path, file.version);
  }

  /** Whether a file is in the folder as somebody has seen it. */
  isSeen(file: EditedFile): boolean {
    return file.on_disk === 'same' || (file.version !== undefined && this.seen.value.get(file.path) === file.version);
  }

  /** The run whose results a new one reuses. */
  get base(): string {
    return this.tried.value?.run ?? this.run;
  }

  /** The files of a request about that run: one that was tried has other ones than the first. */
  #files(): Record<string, string> {
    if (!may('admin')) return {};
    if (!this.tried.peek()) return this.changed.peek();
    const files: Record<string, string> = {};
    for (const file of this.files.peek() ?? []) if (this.drafts.peek().has(file.path)) files[file.path] = this.textOf(file);
    return files;
  }

  /** Asks what the texts mean. */
  async #look() {
    this.#turn.abort();
    this.#turn = new AbortController();
    const { signal } = this.#turn;
    const files = this.#files();
    const path = `/runs/${encodeURIComponent(this.base)}`;
    this.asks.value = true;
    try {
      const isAsBegun = this.base === this.run && Object.keys(files).length === 0;
      const known = isAsBegun ? this.#unedited : null;
      const trace = known ?? (await ask<Trace>(`${path}/prompts`, { method: 'POST', body: { files }, signal }));
      const fork = may('run') ? await ask<ForkPreview>(`${path}/fork`, { method: 'POST', body: { files, dry_run: true }, signal }) : null;
      this.meaning.value = { prompts: new InlineSource(trace), trace, fork };
      this.mistake.value = null;
    } catch (why) {
      if (signal.aborted) return;
      this.mistake.value = why;
    }
    this.asks.value = false;
  }

  /** Starts a run of the edit. */
  async start(limits: Record<string, number>): Promise<RunSummary> {
    return this.#fork({ ...limits });
  }

  /** Runs one step alone. */
  async try(step: string, limits: Record<string, number>): Promise<RunSummary> {
    const started = await this.#fork({ from: step, only: true, labels: { try: step.slice(-60) }, ...limits });
    this.#key = newRequestKey();
    return started;
  }

  /** A run of one step has ended: what it has is kept from now on. */
  hasTried(run: string, step: string) {
    this.tried.value = { run, step };
    void this.#look();
  }

  async #fork(body: Record<string, unknown>): Promise<RunSummary> {
    const files = this.#files();
    try {
      return await ask<RunSummary>(`/runs/${encodeURIComponent(this.base)}/fork`, {
        method: 'POST',
        body: { ...body, files },
        headers: { 'idempotency-key': this.#key },
      });
    } catch (why) {
      if (why instanceof Problem) this.#key = newRequestKey();
      throw why;
    }
  }

  /** Writes a file into the folder of the server, if it is there as it was when it was read. */
  async save(file: EditedFile): Promise<FlowChecks[]> {
    const text = this.textOf(file);
    const path = (file.disk_path ?? file.path).split('/').map(encodeURIComponent).join('/');
    const saved = await ask<{ version: string; flows: FlowChecks[] }>(`/files/${path}`, { method: 'PUT', body: { text, version: file.version } });
    this.#know(file.path, { version: saved.version, current_text: text, on_disk: 'changed' });
    this.seen.value = new Map(this.seen.peek()).set(file.path, saved.version);
    return saved.flows;
  }

  /** Reads how the files are in the folder now. */
  async read() {
    const { files } = await ask<{ files: EditedFile[] }>(`/runs/${encodeURIComponent(this.run)}/files`, { signal: this.#gone.signal });
    this.files.value = files;
  }

  #know(path: string, now: Partial<EditedFile>) {
    this.files.value = (this.files.peek() ?? []).map((file) => (file.path === path ? { ...file, ...now } : file));
  }
}
