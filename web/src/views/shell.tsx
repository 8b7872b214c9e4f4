// What is around every view: the menu, who this is, and the way in where the server asks for a key.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Guard } from '../parts/app.tsx';
import { LegendButton } from '../parts/legend.tsx';
import { ask, asksForKey, describe, introduce, logOut, may, me, NoAnswer } from '../server/api.ts';
import { useRepeated } from '../server/repeat.ts';
import { route } from '../server/route.ts';
import { count, several } from '../text.ts';
import { Empty } from './common.tsx';
import { VIEWS } from './list.ts';
import { Login } from './login.tsx';
import { Notices } from './notices.tsx';

/** How often it is looked whether somebody is asked something. */
const LOOK = 10_000;

export function Shell() {
  const { path } = route.value;
  const entry = VIEWS.find((one) => one.fits(path));
  const failed = useSignal<string | null>(null);
  const title = entry?.name(path) ?? 'Nothing here';
  useEffect(() => {
    document.title = `${title} · Trefoil`;
  }, [title]);
  useRepeated(
    async () => {
      if (me.value || asksForKey.value !== null) return;
      await introduce().then(
        () => (failed.value = null),
        (why: unknown) => (failed.value = why instanceof NoAnswer ? 'The server does not answer. The page tries again.' : describe(why)),
      );
    },
    2_000,
    [],
  );
  const who = me.value;
  const content = useRef<HTMLDivElement>(null);
  const shown = entry?.id(path);
  const before = useRef(shown);
  useEffect(() => {
    // What had the keyboard is gone with the view before.
    if (before.current !== shown && document.activeElement === document.body) content.current?.focus({ preventScroll: true });
    before.current = shown;
  }, [shown]);
  return (
    <div class="shell">
      <Menu current={entry?.name(path) ?? ''} />
      <Notices />
      <div class="content" ref={content} tabIndex={-1}>
        {asksForKey.value !== null ? (
          <Login why={asksForKey.value} />
        ) : !who ? (
          failed.value && <Empty title="No connection">{failed.value}</Empty>
        ) : !entry ? (
          <Empty title="There is nothing here">
            The address names no view. <a href="#/">Show the runs</a>
          </Empty>
        ) : !may(entry.scope) ? (
          <Empty title="The key does not allow this">
            It needs the scope <code>{entry.scope}</code>. Ask the operator of the server for such a key.
          </Empty>
        ) : (
          <Guard what="This view" of={entry.id(path)}>
            <entry.view key={`${who.name} ${entry.id(path)}`} route={route.value} />
          </Guard>
        )}
      </div>
    </div>
  );
}

function Menu({ current }: { current: string }) {
  const asked = useSignal(0);
  const who = me.value;
  useRepeated(
    async (signal) => {
      if (!may('read')) return;
      const list = await ask<{ questions: { late?: true; answered?: string }[]; next?: string }>('/questions?limit=100', { signal });
      asked.value = list.questions.filter((one) => !one.late && one.answered === undefined).length;
    },
    LOOK,
    [who, current],
  );
  return (
    <header class="menu">
      <a class="brand" href="#/">
        <svg viewBox="0 0 20 20" aria-hidden="true">
          <circle cx="10" cy="6" r="4" />
          <circle cx="5.6" cy="12.6" r="4" />
          <circle cx="14.4" cy="12.6" r="4" />
        </svg>
        Trefoil
      </a>
      <nav aria-label="Views">
        {VIEWS.filter((one) => one.menu && may(one.scope)).map((one) => {
          const name = one.name([]);
          return (
            <a key={name} href={one.menu} aria-current={name === current ? 'page' : undefined}>
              {name}
              {name === 'Questions' && asked.value > 0 && (
                <span class="count" title={`${several(asked.value, 'open question')}`}>
                  {count(asked.value)}
                </span>
              )}
            </a>
          );
        })}
      </nav>
      {may('run') && (
        <a class="button primary" href="#/start">
          Start<span>{' a run'}</span>
        </a>
      )}
      <LegendButton />
      {who && who.name !== 'local' && (
        <span class="who">
          <span class="muted">key</span> {who.name}
          <button type="button" class="quiet" onClick={logOut}>
            Forget
          </button>
        </span>
      )}
    </header>
  );
}
