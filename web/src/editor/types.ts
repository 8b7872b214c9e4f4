// What the page and the editor, which it loads later, know of each other.

import type { LanguageService } from './language.ts';

export type LanguageState = 'connecting' | 'ready' | 'lost' | 'refused';

export interface EditorOptions {
  parent: HTMLElement;
  text: string;
  /** The path of the file below the folder that is served. */
  path: string;
  label: string;
  /** What checks and explains while somebody types; none: nobody does. */
  service: LanguageService | null;
  changed: (text: string) => void;
  save: () => void;
}

export interface TextEditor {
  /** Replaces the text, which can be undone. */
  setText(text: string): void;
  /** Lines and columns count from 1. */
  goTo(line: number, column: number): void;
  focus(): void;
  close(): void;
}

/** What the file `editor.js` has. */
export interface EditorModule {
  createEditor(options: EditorOptions): TextEditor;
  LanguageService: new (open: () => WebSocket, told: (state: LanguageState) => void) => LanguageService;
}
