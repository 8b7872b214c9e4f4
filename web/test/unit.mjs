// The unit tests, bundled for node and run by its own runner: `node test/unit.mjs`.
import { readdirSync } from 'node:fs';
import { here, load } from './support.mjs';

for (const file of readdirSync(here('unit')).filter((f) => f.endsWith('.test.ts')).sort()) await load(`unit/${file}`);
