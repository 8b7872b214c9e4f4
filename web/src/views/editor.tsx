// The text of a file, with what the language server finds in it.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { loadEditor } from '../editor/load.ts';
import type { LanguageState, TextEditor } from '../editor/types.ts';
import { may, openSocket } from '../server/api.ts';
import type { EditStore } from '../server/edit.ts';
import type { EditedFile } from '../server/types.ts';
import { Failed } from './common.tsx';

interface PaneProps {
  store: EditStore;
  file: EditedFile;
  /** The line to begin at. */
  line: number | null;
  save: () => void;
}

const STATES: Record<LanguageState, string> = {
  connecting: 'Checks: connecting…',
  ready: 'Checked while you type',
  lost: 'The checks are not connected; the page tries again.',
  refused: 'This server does not check while you type.',
};

export function EditorPane({ store, file, line, save }: PaneProps) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<TextEditor | null>(null);
  const failed = useSignal<unknown>(null);
  const state = useSignal<LanguageState>('connecting');
  const saves = useRef(save);
  saves.current = save;
  useEffect(() => {
    let gone = false;
    let close = () => {};
    loadEditor().then(
      ({ createEditor, LanguageService }) => {
        if (gone || !box.current) return;
        // The language server reads the files beside this one: the same right as for a run of edited files.
        const service = may('admin') ? new LanguageService(() => openSocket('/language-server', 'trefoil.lsp'), (now) => (state.value = now)) : null;
        if (!service) state.value = 'refused';
        const made = createEditor({
          parent: box.current,
          text: store.textOf(file),
          path: file.disk_path ?? file.path,
          label: `Text of ${file.path}`,
          service,
          changed: (text) => store.write(file.path, text),
          save: () => saves.current(),
        });
        editor.current = made;
        if (line !== null) made.goTo(line, 1);
        close = () => {
          made.close();
          service?.close();
        };
      },
      (why: unknown) => (failed.value = why),
    );
    return () => {
      gone = true;
      close();
    };
  }, [store, file.path]);
  // Taken back, or replaced by that on the disk. What is typed is in the editor already, and may be further than what is drawn here.
  const replaced = store.replaced.value;
  useEffect(() => {
    if (replaced > 0) editor.current?.setText(store.textOf(file));
  }, [replaced]);
  return (
    <>
      <Failed why={failed.value} what="The editor cannot be loaded." />
      <div class="editor" ref={box} />
      <p class={`checks c-${state.value} muted`} role="status">
        {STATES[state.value]}
      </p>
    </>
  );
}
