// The files of a run, edited: beside them the prompts that they would send with the run's data, and what a run of them would keep. The run
// that one looks at never changes.

import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { linksOf, setLinks } from '../links.ts';
import { may, me } from '../server/api.ts';
import { EditStore } from '../server/edit.ts';
import { isEnd } from '../server/ends.ts';
import { address, replace } from '../server/route.ts';
import type { EditedFile } from '../server/types.ts';
import { brief } from '../text.ts';
import { Empty, Failed } from './common.tsx';
import { EditorPane } from './editor.tsx';
import { EditResume } from './editresume.tsx';
import { FileSave } from './filesave.tsx';
import type { ViewProps } from './list.ts';
import { StepPrompts } from './prompts.tsx';
import { StepTry } from './try.tsx';

export function EditView({ route }: ViewProps) {
  const run = route.path[1] ?? '';
  const store = useMemo(() => {
    setLinks(linksOf(run));
    return new EditStore(run);
  }, [run]);
  useEffect(() => {
    void store.open();
    return () => store.close();
  }, [store]);
  const failed = store.failed.value;
  const files = store.files.value;
  if (failed) {
    return (
      <main class="page">
        <h1>The files of this run cannot be edited</h1>
        <Failed why={failed} />
        <p>
          <a href={address(['runs', run])}>Show the run</a>
        </p>
      </main>
    );
  }
  if (!files) return <p class="loading">The files of run {brief(run, 40)}</p>;
  const file = files.find((one) => one.path === route.query.get('file')) ?? files.find((one) => one.entry) ?? files[0];
  if (!file) return <Empty title="No files">The store has no files of this run.</Empty>;
  return <Edit key={run} store={store} files={files} file={file} step={route.query.get('step')} line={Number(route.query.get('line')) || null} />;
}

interface EditProps {
  store: EditStore;
  files: EditedFile[];
  file: EditedFile;
  step: string | null;
  line: number | null;
}

function Edit({ store, files, file, step, line }: EditProps) {
  const detail = store.detail.value;
  const flow = detail?.flow ?? '';
  useEffect(() => {
    document.title = `Edit ${brief(flow, 60)} · Trefoil`;
  }, [flow]);
  const here = (query: Record<string, string | null>) => address(['edit', store.run], { step, file: file.path, ...query });
  const save = useSignal(0);
  return (
    <main class="edit">
      <header class="edit-head">
        <h1>
          Edit <a href={address(['flows', flow])}>{brief(flow, 60)}</a> <span class="muted">with the data of run</span> <a href={address(['runs', store.run])}>{brief(store.run, 8)}</a>
        </h1>
        <nav class="tabs" aria-label="Files">
          {files.map((one) => (
            <a key={one.path} href={here({ file: one.path })} aria-current={one.path === file.path ? 'page' : undefined} title={one.path}>
              {brief(one.path, 60)}
              {store.changed.value[one.path] !== undefined && (
                <span class="edited" title="edited">
                  <i aria-hidden="true">●</i>
                  <span class="sr"> (edited)</span>
                </span>
              )}
            </a>
          ))}
        </nav>
      </header>
      <section class="panel edit-text" aria-label="Text">
        <EditorPane key={file.path} store={store} file={file} line={line} save={() => (save.value += 1)} />
        <FileSave key={`save ${file.path}`} store={store} file={file} wanted={save.value} />
      </section>
      <section class="panel edit-side" aria-label="What the edit means">
        <Failed why={store.mistake.value} what="The text is not accepted; what follows is from before." />
        <StepPrompts store={store} step={step} choose={(key) => replace(here({ step: key }))}>
          {(key) => <StepTry key={key} store={store} step={key} />}
        </StepPrompts>
        {detail && !isEnd(detail.status) ? (
          <p class="note">The run has not ended: a new run of the edit can be started when it has.</p>
        ) : (
          may('run') && <EditResume store={store} />
        )}
        {!may('admin') && (
          <p class="note">
            {me.value?.name === 'local' ? 'This server' : 'The key'} does not allow runs of edited files: that needs the scope <code>admin</code>.
          </p>
        )}
      </section>
    </main>
  );
}
