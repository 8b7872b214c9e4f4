// What runs cost together.

import { money } from '../text.ts';
import type { RunSummary } from './types.ts';

/** `$1.20`, `$1.20+` where some of it is not known, `-` where nothing is. */
export function together(runs: RunSummary[]): string {
  const known = runs.reduce((sum, run) => sum + (run.cost.usd ?? 0), 0);
  const isWhole = runs.every((run) => run.cost.completeness === 'known');
  if (isWhole) return money(Math.round(known * 1e6));
  return known === 0 ? '-' : `${money(Math.round(known * 1e6))}+`;
}
