// Writes an edited file into the folder of the server, where the operator allows that, and never over a change that came from elsewhere.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { may, me, Problem } from '../server/api.ts';
import type { EditStore } from '../server/edit.ts';
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
  const onDisk = file.current_text ?? (file.on_disk === 'same' ? file.text : null);
  const isHere = file.version !== undefined;
  const canSave = me.value?.edit === true && may('admin') && isHere;
  const isOther = onDisk !== null && onDisk !== file.text;
  const save = async () => {
    if (!canSave || busy.value || text === onDisk) return;
    busy.value = true;
    failed.value = null;
    try {
      saved.value = await store.save(file);
    } catch (why) {
      saved.value = null;
      failed.value = why;
      if (why instanceof Problem && why.body.status === 409) await store.read().catch(() => {});
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
        {canSave ? (
          <button type="button" class="button" disabled={busy.value || text === onDisk} onClick={() => void save()}>
            {busy.value ? 'Saves…' : text === onDisk ? 'Saved' : 'Save'}
          </button>
        ) : (
          <span class="muted">{whyNot(isHere)}</span>
        )}
        {store.isEdited.value && <Twice label="Take edits back" sure="Forget all edits of this run's files?" act={() => store.revert()} />}
        {isOther && text !== onDisk && (
          <button type="button" class="button" title="The file has changed since the run started" onClick={() => store.write(file.path, onDisk)}>
            Use the text in the folder
          </button>
        )}
      </p>
      {isOther && <p class="muted">The file in the folder is not the one with which the run started.</p>}
      <Failed why={failed.value} what="The file was not saved." />
      {saved.value && (
        <p role="status">
          Saved. {findings.length > 0 ? `The check of it found ${several(findings.length, 'thing')}:` : 'The check found nothing.'}
        </p>
      )}
      {findings.length > 0 && <Findings all={findings} />}
    </div>
  );
}

function whyNot(isHere: boolean): string {
  if (!isHere) return 'The file is not in the folder of the server, so it cannot be saved there.';
  return me.value?.edit ? 'The key does not allow saving.' : 'Not saved: this server was started without --edit.';
}
