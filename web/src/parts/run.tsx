// The run as a whole: input, result, what took part.

import type { State } from '../state.ts';
import { brief, count, duration, inline, moment, place, several, visible } from '../text.ts';
import { UsageLine } from './call.tsx';
import { Ticks, WORDS } from './status.tsx';
import { ValueView } from './value.tsx';

export function RunDetail({ state, heading }: { state: State; heading: { current: HTMLHeadingElement | null } }) {
  const run = state.overview;
  const own = run.status ?? 'running';
  const status = own === 'completed' && run.partial.length > 0 ? 'mixed' : own;
  const filled = run.effective_input !== undefined && JSON.stringify(run.effective_input) !== JSON.stringify(run.input);
  return (
    <>
      <header class="step-head">
        <h2 ref={heading} tabIndex={-1}>
          Run
        </h2>
        <p class="facts">
          <span class={`word s-${status}`}>{WORDS[status] ?? inline(status)}</span>
          {(run.items?.failed ?? 0) > 0 && (
            <span class="word s-mixed">
              {count(run.items?.failed)} of {several(run.items?.total ?? 0, 'item')} failed
            </span>
          )}
          <span>{duration(run.duration_ms)}</span>
          <span>{several(run.steps, 'step')}</span>
          {run.calls != null && <span>{several(run.calls, 'model call')}</span>}
          {(run.calls ?? 0) > 0 && <UsageLine usage={run.usage ?? null} />}
        </p>
      </header>
      <Block title="Result" value={run.output} none={own === 'completed' ? 'no result' : undefined} />
      <Block title="Input" value={run.input} none="no input" />
      {filled && <Block title="Input with defaults" value={run.effective_input} />}
      {(run.warnings?.length ?? 0) > 0 && (
        <section class="block">
          <h3>{several(run.warnings?.length ?? 0, 'warning')}</h3>
          <ul class="notes">
            {run.warnings?.slice(0, 200).map((text, i) => (
              <li key={i} dir="auto">
                <Ticks text={visible(text)} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="block">
        <h3>About this run</h3>
        <dl class="wide">
          {run.started_at && (
            <>
              <dt>started</dt>
              <dd>
                <time dateTime={run.started_at}>{moment(run.started_at)}</time>
              </dd>
            </>
          )}
          {run.answers_from && (
            <>
              <dt>answers</dt>
              <dd>{inline(run.answers_from)}</dd>
            </>
          )}
          {run.run && (
            <>
              <dt>run</dt>
              <dd>
                <code>{inline(run.run)}</code>
              </dd>
            </>
          )}
          {run.base && (
            <>
              <dt>reuses</dt>
              <dd>
                results of run <code>{inline(run.base)}</code>
              </dd>
            </>
          )}
          {run.engine?.name && (
            <>
              <dt>engine</dt>
              <dd>
                {inline(run.engine.name)} {inline(run.engine.version ?? '')}
              </dd>
            </>
          )}
          {run.dialect && (
            <>
              <dt>format</dt>
              <dd>{inline(run.dialect)}</dd>
            </>
          )}
          {run.program && (
            <>
              <dt>program</dt>
              <dd>
                <code title={inline(run.program)}>{brief(run.program, 17)}</code>
              </dd>
            </>
          )}
          {run.sources?.slice(0, 50).map(({ file, sha256 }) => (
            <>
              <dt>file</dt>
              <dd>
                <span class="place">{place({ file })}</span>{' '}
                {sha256 && (
                  <code class="muted" title={`sha256 ${inline(sha256)}`}>
                    {brief(sha256, 13)}
                  </code>
                )}
              </dd>
            </>
          ))}
        </dl>
      </section>
    </>
  );
}

function Block({ title, value, none }: { title: string; value: unknown; none?: string | undefined }) {
  const nothing = value === undefined || value === null;
  if (nothing && !none) return null;
  return (
    <section class="block">
      {nothing ? (
        <>
          <div class="block-head">
            <h3>{title}</h3>
          </div>
          <p class="muted">{none}</p>
        </>
      ) : (
        <ValueView value={value} label={title} headClass="block-head" head={<h3>{title}</h3>} />
      )}
    </section>
  );
}
