// Writes an edited file into the folder of the server, where the operator allows that, and never over a text that nobody here has seen.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { LongText } from '../parts/longtext.tsx';
import { may, me, Problem } from '../server/api.ts';
import { diskText, type EditStore } from '../server/edit.ts';
import type { EditedFile, FlowChecks } from '../server/types.ts';
import { several } from '../text.ts';
import { Failed, Findings, Twice } from './common.tsx';

interface SaveProps {
  store: EditStore;
  file: EditedFile;
  /** Grows with each press of the keys that save. */
  wanted: number;
}

export function FileSave({ store, file, wanted }: SaveProps) {
  const busy = useSignal(false);
  const failed = useSignal<unknown>(null);
  const saved = useSignal<FlowChecks[] | null>(null);
  const text = store.textOf(file);
  const onDisk = diskText(file);
  const isHere = file.version !== undefined;
  const mayEver = me.value?.edit === true && may('admin') && isHere;
  const isSeen = store.isSeen(file);
  const isSame = text === onDisk;
  const save = async () => {
    if (!mayEver || !isSeen || busy.value || isSame) return;
    busy.value = true;
    failed.value = null;
    try {
      saved.value = await store.save(file);
    } catch (why) {
      saved.value = null;
      // That the file has changed is said below, with its text.
      if (why instanceof Problem && why.body.status === 409) await store.read().catch(() => {});
      else failed.value = why;
    }
    busy.value = false;
  };
  useEffect(() => {
    if (wanted > 0) void save();
  }, [wanted]);
  const findings = (saved.value ?? []).flatMap((one) => one.edit ?? one.findings ?? []);
  return (
    <div class="file-save">
      <p class="buttons">
        {mayEver ? (
          <button type="button" class="button" disabled={busy.value || isSame || !isSeen} onClick={() => void save()}>
            {busy.value ? 'Saves…' : isSame ? 'Saved' : 'Save'}
          </button>
        ) : (
          <span class="muted">{whyNot(isHere)}</span>
        )}
        {store.isEdited.value && <Twice label="Take edits back" sure="Forget all edits of this run's files?" act={() => store.revert()} />}
        <span class="muted">Escape, then Tab leaves the text.</span>
      </p>
      {isHere && !isSeen && !isSame && <ChangedFile store={store} file={file} onDisk={onDisk} maySave={mayEver} />}
      <Failed why={failed.value} what="The file was not saved." />
      {saved.value && isSame && (
        <p role="status">
          Saved. {findings.length > 0 ? `The check of it found ${several(findings.length, 'thing')}:` : 'The check found nothing.'}
        </p>
      )}
      {isSame && findings.length > 0 && <Findings all={findings} />}
    </div>
  );
}

/** The file in the folder is not the one that is edited: its text, and what can be done. */
function ChangedFile({ store, file, onDisk, maySave }: { store: EditStore; file: EditedFile; onDisk: string | null; maySave: boolean }) {
  return (
    <section class="changed-file" role="alert">
      <p>
        <b>The file in the folder is another one.</b> It has changed since the text that you see was read. Nothing is written over it unasked.
      </p>
      {onDisk !== null && (
        <details>
          <summary>Show the text in the folder</summary>
          <LongText text={onDisk} label="Text in the folder" />
        </details>
      )}
      <p class="buttons">
        {onDisk !== null && <Twice label="Use the text in the folder" sure="Replace your text? It can be undone." act={() => store.takeDisk(file)} />}
        {maySave && <Twice label="Keep mine" sure="Allow to save your text over that one?" act={() => store.saw(file)} danger />}
      </p>
    </section>
  );
}

function whyNot(isHere: boolean): string {
  if (!isHere) return 'The file is not in the folder of the server, so it cannot be saved there.';
  return me.value?.edit ? 'The key does not allow saving.' : 'Not saved: this server was started without --edit.';
}
