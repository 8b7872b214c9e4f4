// Loads the editor, once, when somebody edits.

import type { EditorModule } from './types.ts';

/** The name of its file, with the hash of its content: the build puts it here. */
declare const EDITOR_FILE: string;

let loaded: Promise<EditorModule> | null = null;

export function loadEditor(): Promise<EditorModule> {
  const address: string = EDITOR_FILE;
  loaded ??= (import(address) as Promise<EditorModule>).catch((why: unknown) => {
    loaded = null;
    throw why;
  });
  return loaded;
}
