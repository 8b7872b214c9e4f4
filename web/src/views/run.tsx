// A run: the same page as that of a trace in a file, which grows while the run goes on, with what can be done about it.

import { useEffect, useMemo } from 'preact/hooks';
import { App } from '../parts/app.tsx';
import { linksOf, setLinks } from '../links.ts';
import { Problem } from '../server/api.ts';
import { isEnd } from '../server/ends.ts';
import { readMoment, writeMoment } from '../server/moment.ts';
import { RunStore } from '../server/run.ts';
import type { Question } from '../server/types.ts';
import { brief } from '../text.ts';
import { RunActions, StepActions } from './actions.tsx';
import { Empty, Failed } from './common.tsx';
import type { ViewProps } from './list.ts';
import { QuestionCard } from './question.tsx';

export function RunView({ route }: ViewProps) {
  const run = route.path[1] ?? '';
  const store = useMemo(() => {
    setLinks(linksOf(run));
    const made: RunStore = new RunStore(run, (state) => {
      state.additions = {
        next: () => <RunNext store={made} />,
        step: (detail) => <StepActions store={made} detail={detail} />,
      };
    });
    return made;
  }, [run]);
  useEffect(() => {
    void store.watch();
    return () => store.close();
  }, [store]);
  const failed = store.failed.value;
  const state = store.state.value;
  const { query } = route;
  const [event, at] = [query.get('event'), query.get('at')];
  const over = store.connection.value === 'over';
  useEffect(() => {
    if (!state || (event === null && at === null)) return;
    const gone = new AbortController();
    // Without it, the end is shown.
    readMoment(state, store.path, query, gone.signal).catch(() => {});
    return () => gone.abort();
  }, [state, event, at, over]);
  useEffect(() => (state ? writeMoment(state) : undefined), [state]);
  const flow = store.detail.value?.flow;
  const status = store.detail.value?.status;
  useEffect(() => {
    if (flow) document.title = `${brief(flow, 60)} · ${status} · Trefoil`;
  }, [flow, status]);
  if (failed && !state) {
    const isGone = failed instanceof Problem && (failed.body.status === 404 || failed.body.status === 410);
    return (
      <main class="page">
        <h1>{isGone ? 'This run cannot be shown' : 'This run cannot be read'}</h1>
        <Failed why={failed} />
        <p>
          <a href="#/">Show the runs</a>
        </p>
      </main>
    );
  }
  if (!state) return store.connection.value === 'lost' ? <Empty title="No connection">The server does not answer. The page tries again.</Empty> : <p class="loading">Run {brief(run, 40)}</p>;
  return <App state={state} />;
}

const WORDS = {
  opening: '',
  live: 'live',
  lost: 'The connection to the server is lost. What is shown may be old; the page tries again.',
  over: '',
};

/** What there is to do about a run, above everything else of it. */
function RunNext({ store }: { store: RunStore }) {
  const detail = store.detail.value;
  const connection = store.connection.value;
  // The trace may know of the end before the rest does.
  const over = isEnd(store.state.value?.overview.status ?? '');
  const questions = over ? [] : (detail?.waiting ?? []);
  return (
    <section class="next-bar" aria-label="What can be done next">
      {connection === 'lost' && (
        <p class="lost" role="status">
          {WORDS.lost}
        </p>
      )}
      <Failed why={store.failed.value} what="The run is not up to date." />
      {questions.length > 0 && (
        <div class="asks">
          {questions.slice(0, 20).map((one: Question) => (
            <QuestionCard key={`${one.run ?? ''} ${one.key}`} run={store.run} question={one} done={(summary) => void store.acted(summary)} late={() => void store.ask().catch(() => {})} />
          ))}
          {questions.length > 20 && <p class="muted">and {questions.length - 20} more, in the list of questions</p>}
        </div>
      )}
      <RunActions store={store} />
    </section>
  );
}
