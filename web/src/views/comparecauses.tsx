// What two runs started with, where it differs: values and files.

import { Fragment } from 'preact';
import { LongText } from '../parts/longtext.tsx';
import type { FileDiff, ValueDiff } from '../server/compare.ts';
import { brief, inline, shown } from '../text.ts';
import { Words } from './words.tsx';

/** As many values as are shown at once. */
const MOST = 50;

export function ChangedValues({ title, all }: { title: string; all: ValueDiff[] }) {
  if (all.length === 0) return null;
  return (
    <div class="cause">
      <h3>{title}</h3>
      {all.slice(0, MOST).map((one) => (
        <div key={one.path} class="value-diff">
          <p class="path">
            <code>{one.path === '' ? 'all of it' : brief(one.path, 200)}</code>
            {one.before === undefined && <span class="muted">only in the second run</span>}
            {one.now === undefined && <span class="muted">only in the first run</span>}
          </p>
          {one.words ? <Words parts={one.words} label={`The difference in ${inline(one.path || title)}`} /> : <BeforeNow before={one.before} now={one.now} />}
        </div>
      ))}
      {all.length > MOST && <p class="muted">and {all.length - MOST} more</p>}
    </div>
  );
}

/** Two values that are no texts. A short one stands in the line. */
export function BeforeNow({ before, now }: { before: unknown; now: unknown }) {
  const sides = [
    { value: before, Tag: 'del' as const, says: 'gone' },
    { value: now, Tag: 'ins' as const, says: 'new' },
  ].filter((side) => side.value !== undefined);
  const isShort = sides.every((side) => shown(side.value).length < 80);
  if (isShort) {
    return (
      <p class="text words">
        {sides.map(({ value, Tag, says }) => (
          <Fragment key={says}>
            <Tag>
              <span class="sr"> [{says}: </span>
              {inline(shown(value)) || '(empty)'}
              <span class="sr">] </span>
            </Tag>{' '}
          </Fragment>
        ))}
      </p>
    );
  }
  return (
    <div class="two">
      {sides.map(({ value, says }) => (
        <div key={says} class={says}>
          <p class="muted">{says === 'gone' ? 'first' : 'second'}</p>
          <LongText text={shown(value)} label={says === 'gone' ? 'In the first run' : 'In the second run'} />
        </div>
      ))}
    </div>
  );
}

const CHANGES = { added: 'only in the second run', removed: 'only in the first run', changed: '' };

export function ChangedFiles({ all }: { all: FileDiff[] }) {
  return (
    <>
      {all.slice(0, MOST).map((file) => (
        <div key={file.path} class="cause">
          <h3>
            File <code>{brief(file.path, 200)}</code> {CHANGES[file.change] && <span class="muted">{CHANGES[file.change]}</span>}
          </h3>
          <Words parts={file.words} label={`The difference in ${inline(file.path)}`} />
        </div>
      ))}
      {all.length > MOST && <p class="muted">and {all.length - MOST} more files</p>}
    </>
  );
}
