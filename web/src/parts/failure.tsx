// An error with all that is known of it: code, what happened, cause, place, what to do.

import { brief, cause, duration, inline, place, visible } from '../text.ts';
import type { Failure } from '../trace.ts';
import { failureLine, handled, Ticks } from './status.tsx';

export function FailureBox({ error, handledAs }: { error: Failure; handledAs?: string | null }) {
  return (
    <section class="failure">
      <h3>
        <span class="code">{brief(error.code ?? 'FAILED', 60)}</span>
        {handledAs && handledAs !== 'fail' && <span class="muted"> {handled(handledAs)}</span>}
      </h3>
      <p class="what" dir="auto">
        <Ticks text={visible(failureLine(error))} />
      </p>
      <dl>
        {error.cause && (
          <>
            <dt>cause</dt>
            <dd dir="auto">
              <Ticks text={cause(error.cause)} />
            </dd>
          </>
        )}
        {error.interpolation?.expression && (
          <>
            <dt>in</dt>
            <dd>
              <code>{brief(error.interpolation.expression, 300)}</code>
              {error.interpolation.reason && ` ${inline(error.interpolation.reason)}`}
            </dd>
          </>
        )}
        {place(error.location) && (
          <>
            <dt>at</dt>
            <dd class="place">{place(error.location)}</dd>
          </>
        )}
        {error.retry_after_ms != null && (
          <>
            <dt>wait</dt>
            <dd>{duration(error.retry_after_ms)} were asked for</dd>
          </>
        )}
        {error.help && (
          <>
            <dt>to do</dt>
            <dd dir="auto">
              <b>
                <Ticks text={visible(error.help)} />
              </b>
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}
