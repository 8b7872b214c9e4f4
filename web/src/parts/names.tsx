// Steps by name, and links to them.

import type { StepName } from '../source/types.ts';
import { link } from '../links.ts';
import { inline } from '../text.ts';
import { Sign, WORDS } from './status.tsx';

export type Names = ReadonlyMap<string, StepName>;

export const named = (name: StepName | undefined, key: string): string =>
  name ? `${inline(name.label)}${name.places ? ` (${name.places})` : ''}` : inline(key);

export function NameList({ names }: { names: StepName[] }) {
  return (
    <ul class="names">
      {names.map((name) => (
        <li key={name.key}>
          <a href={link(name.key)}>
            <Sign status={name.status} />
            <span class="sr">{WORDS[name.status]} </span>
            {named(name, name.key)}
          </a>
        </li>
      ))}
    </ul>
  );
}
