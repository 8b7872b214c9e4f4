// The page: what matters first at the top, then the graph, the steps in time, and one of them in full.

import { useSignal } from '@preact/signals';
import { Component, type ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { link, runLink } from '../links.ts';
import type { State } from '../state.ts';
import { brief, cause, duration, inline, moment, place, several } from '../text.ts';
import { UsageLine } from './call.tsx';
import { Detail } from './detail.tsx';
import { GraphPanel } from './graph.tsx';
import { LegendButton } from './legend.tsx';
import { Copy } from './longtext.tsx';
import { named } from './names.tsx';
import { failureLine, Sign, Ticks, WORDS } from './status.tsx';
import { Steps } from './steps.tsx';

export function App({ state }: { state: State }) {
  const { graph } = state;
  // A graph that is wider than high goes on top, any other next to the steps.
  const shape = !graph ? 'none' : graph.width > graph.height * 1.15 ? 'wide' : 'tall';
  const detail = shape === 'tall' ? 38 : 44;
  const tab = state.tab.value;
  return (
    <div class={`app graph-${shape} tab-${tab}`}>
      <Top state={state} />
      <nav class="tabs" aria-label="Parts of the page">
        {(['steps', ...(graph ? ['graph' as const] : []), 'step'] as const).map((t) => (
          <button key={t} type="button" aria-pressed={tab === t} onClick={() => (state.tab.value = t)}>
            {t === 'steps' ? 'Steps' : t === 'graph' ? 'Graph' : 'Detail'}
          </button>
        ))}
      </nav>
      <main>
        <Split shape={shape} share={share(state, shape, detail)} detail={detail} first={<Guard what="The graph"><GraphPanel state={state} /></Guard>} second={<Guard what="The list of steps"><Steps state={state} /></Guard>} third={<DetailPart state={state} />} />
      </main>
      <div class="sr" role="status" aria-live="polite">
        {state.said.value}
      </div>
    </div>
  );
}

function DetailPart({ state }: { state: State }) {
  const broken = state.broken.value;
  if (broken !== null && 'step' in state.selection.value) return <BrokenPart what="This step" why={broken} />;
  return (
    <Guard what="This step" of={state.detail.value ?? state.selection.value}>
      <Detail state={state} />
    </Guard>
  );
}

/** As much room for the graph as it needs to be read, and no more than leaves room for the steps. */
function share({ graph, size }: State, shape: string, detail: number): number {
  if (!graph) return 0;
  if (shape === 'tall') {
    const room = innerWidth * (1 - detail / 100);
    return Math.min(52, (Math.max(340, graph.width * 0.9 + 16) / room) * 100);
  }
  const room = innerHeight - 140;
  const most = size.peek().rows <= 8 ? 64 : 50;
  return Math.max(25, Math.min(most, ((graph.height * 0.85 + 58) / room) * 100));
}

function Top({ state }: { state: State }) {
  const run = state.overview;
  const own = run.status ?? 'running';
  const status = own === 'completed' && run.partial.length > 0 ? 'mixed' : own;
  return (
    <header class="top">
      <div class="title">
        <Sign status={status} />
        <h1 dir="auto">
          <a href={runLink()}>{brief(run.flow ?? '', 80) || 'run'}</a>
        </h1>
        <span class={`word s-${status}`}>{WORDS[status] ?? inline(status)}</span>
        {run.partial.length > 0 && (
          <span class="word s-mixed">
            {brief(run.partial.slice(0, 3).join(' · '), 120)}
            {run.partial.length > 3 && ` and ${several(run.partial.length - 3, 'more step')}`}
          </span>
        )}
        <p class="facts">
          <span>
            <b>{duration(run.duration_ms)}</b>
          </span>
          <span>{several(run.steps, 'step')}</span>
          {run.calls != null && <span>{several(run.calls, 'call')}</span>}
          {(run.calls ?? 0) > 0 && <UsageLine usage={run.usage ?? null} />}
          {run.answers_from && !run.placeholder && <span>{brief(run.answers_from, 60)}</span>}
          {run.started_at && <time dateTime={run.started_at}>{moment(run.started_at)}</time>}
        </p>
        {!state.additions && <LegendButton />}
      </div>
      {run.placeholder && (
        <p class="banner">
          <b>Placeholder answers.</b> The embedded model made up every answer of this run; no provider was called.
        </p>
      )}
      {run.error && <Lead state={state} />}
      {state.additions ? state.additions.next() : <Next state={state} />}
    </header>
  );
}

/** What went wrong, before anything else. */
function Lead({ state }: { state: State }) {
  const { error, failed, status } = state.overview;
  if (!error) return null;
  const at = place(error.location);
  const called = error.called ?? null;
  const help = called?.help ?? error.help;
  return (
    <section class={`lead ${status === 'cancelled' ? 'cancelled' : ''}`} aria-label="Why the run ended">
      <p class="what" dir="auto">
        <span class="code">{brief(error.code ?? 'FAILED', 60)}</span> <Ticks text={brief(failureLine(error), 600)} />
      </p>
      <p class="facts">
        {failed && (
          <span>
            in <a href={link(failed.key)}>{named(failed, failed.key)}</a>
          </span>
        )}
        {at && <span class="place">{at}</span>}
        {error.cause && (
          <span dir="auto">
            <Ticks text={cause(error.cause)} />
          </span>
        )}
      </p>
      {called && (
        <p class="facts" dir="auto">
          <span>
            caused by <span class="code">{brief(called.code ?? 'FAILED', 60)}</span> {called.key ? `in ${brief(called.key, 100)} ` : ''}of{' '}
            {brief(called.flow ?? 'a called flow', 100)}, run <code>{brief(called.run ?? '', 60)}</code>
          </span>
          {place(called.location) && <span class="place">{place(called.location)}</span>}
        </p>
      )}
      {help && (
        <p class="help" dir="auto">
          <b>To do:</b> <Ticks text={brief(help, 600)} />
        </p>
      )}
    </section>
  );
}

/** What the run waits for, and the commands that answer and continue it, or run a part of it again. */
function Next({ state }: { state: State }) {
  const { waiting, stopped, next, status } = state.overview;
  const questions = (waiting ?? []).filter((one) => one.question);
  if (questions.length === 0 && !stopped?.text && !next?.length) return null;
  return (
    <section class={`lead ${status === 'failed' ? '' : 'open'}`} aria-label="What can be done next">
      {questions.slice(0, 20).map((one) => (
        <p key={one.key} class="what" dir="auto">
          <Ticks text={brief(one.question ?? '', 700)} />
          {one.called_with && <span class="muted"> It was called with {brief(one.called_with, 300)}</span>}
        </p>
      ))}
      {stopped?.text && (
        <p class="what" dir="auto">
          Waiting: <Ticks text={brief(stopped.text, 700)} />
        </p>
      )}
      {next?.slice(0, 40).map(({ command, purpose }) => (
        <p key={command} class="next">
          <span class="muted">{brief(purpose, 60)}:</span>
          <code>{inline(command)}</code>
          <Copy text={() => command} what="the command" />
        </p>
      ))}
    </section>
  );
}

interface SplitProps {
  shape: 'none' | 'wide' | 'tall';
  share: number;
  detail: number;
  first: ComponentChildren;
  second: ComponentChildren;
  third: ComponentChildren;
}

/** The three parts, with two borders that can be moved by hand and by keys. */
function Split({ shape, share, detail: wide, first, second, third }: SplitProps) {
  const main = useRef<HTMLDivElement>(null);
  const graph = useSignal(share);
  const detail = useSignal(wide);
  return (
    <div
      class="split"
      ref={main}
      style={{ '--graph': `${graph.value}%`, '--detail': `${detail.value}%` }}
    >
      <div class="left">
        {shape !== 'none' && first}
        {shape !== 'none' && (
          <Border label="Size of the graph" value={graph} vertical={shape === 'wide'} room={() => main.current?.querySelector('.left') ?? null} />
        )}
        {second}
      </div>
      <Border label="Size of the detail" value={detail} fromEnd room={() => main.current} />
      {third}
    </div>
  );
}

interface BorderProps {
  label: string;
  value: { value: number };
  vertical?: boolean;
  fromEnd?: boolean;
  room: () => Element | null;
}

function Border({ label, value, vertical = false, fromEnd = false, room }: BorderProps) {
  const set = (n: number) => (value.value = Math.max(15, Math.min(75, n)));
  const drag = (e: PointerEvent) => {
    const element = e.currentTarget as HTMLElement;
    element.setPointerCapture(e.pointerId);
    const move = (m: PointerEvent) => {
      const rect = room()?.getBoundingClientRect();
      if (!rect) return;
      const part = vertical ? (m.clientY - rect.top) / rect.height : (m.clientX - rect.left) / rect.width;
      set((fromEnd ? 1 - part : part) * 100);
    };
    const end = () => {
      element.removeEventListener('pointermove', move);
      element.removeEventListener('pointerup', end);
    };
    element.addEventListener('pointermove', move);
    element.addEventListener('pointerup', end);
  };
  const keys = (e: KeyboardEvent) => {
    const [less, more] = vertical ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight'];
    const by = e.key === more ? 3 : e.key === less ? -3 : 0;
    if (by === 0) return;
    e.preventDefault();
    set(value.value + (fromEnd ? -by : by));
  };
  return (
    <div
      class={`border${vertical ? ' vertical' : ''}${fromEnd ? ' outer' : ''}`}
      role="separator"
      aria-label={label}
      aria-orientation={vertical ? 'horizontal' : 'vertical'}
      aria-valuenow={Math.round(value.value)}
      aria-valuemin={15}
      aria-valuemax={75}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={keys}
    />
  );
}

interface GuardProps {
  what?: string;
  of?: unknown;
  children: ComponentChildren;
}

/** A mistake of the page says so, and where the same can be seen. Of a part of it, the rest stays. */
export class Guard extends Component<GuardProps, { error: string | null; of: unknown }> {
  override state = { error: null as string | null, of: undefined as unknown };
  /** What could not be shown is gone when something else is. */
  static override getDerivedStateFromProps({ of }: GuardProps, state: { of: unknown }) {
    return of === state.of ? null : { of, error: null };
  }
  override componentDidCatch(error: unknown) {
    this.setState({ error: String(error) });
  }
  override render() {
    const { error } = this.state;
    const { what, children } = this.props;
    if (error === null) return children;
    return what ? <BrokenPart what={what} why={error} /> : <Broken why={error} />;
  }
}

function BrokenPart({ what, why }: { what: string; why: string }) {
  return (
    <section class="panel broken-part">
      <p>
        <b>{what} cannot be shown here.</b> {brief(why, 300)}
      </p>
      <p>
        <code>trefoil trace FILE</code> shows it in a terminal.
      </p>
    </section>
  );
}

export function Broken({ why }: { why: string }) {
  return (
    <main class="broken">
      <h1>This trace cannot be shown here</h1>
      <p>{brief(why, 500)}</p>
      <p>
        <code>trefoil trace FILE</code> shows it in a terminal.
      </p>
    </main>
  );
}
