// Where things are: on the axis of time and in the graph.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Axis, marks, ticks, where } from '../../src/parts/axis.ts';
import { bounds, curve, heading, neighbour } from '../../src/parts/geometry.ts';
import type { GraphNode } from '../../src/trace.ts';

test('an axis has a few round numbers, however long the run is', () => {
  assert.deepEqual(ticks([0, 11_600], 4), [0, 5000, 10_000]);
  assert.deepEqual(ticks([0, 45_500], 2), [0, 20_000, 40_000]);
  for (const end of [0.001, 1, 3, 7, 99, 12_345, 9e9]) {
    const all = ticks([0, end], 4);
    assert.ok(all.length >= 1 && all.length <= 7, `${end}: ${all}`);
    assert.ok(all.every((at) => at >= 0 && at <= end));
  }
  assert.deepEqual(ticks([100, 200], 2), [100, 150, 200]);
  assert.equal(where(150, [100, 200]), 50);
});

test('arrow keys go to the nearest box in their direction', () => {
  const box = (id: string, x: number, y: number): GraphNode => ({ id, label: id, kind: 'agent', x, y, width: 100, height: 30 });
  const nodes = [box('top', 100, 0), box('left', 0, 100), box('right', 200, 100), box('bottom', 100, 200)];
  const go = (from: number, to: [number, number]) => neighbour(nodes, nodes[from], to)?.id;
  assert.equal(go(0, [0, 1]), 'left');
  assert.equal(go(1, [1, 0]), 'right');
  assert.equal(go(2, [-1, 0]), 'left');
  assert.equal(go(3, [0, -1]), 'left');
  assert.equal(go(0, [0, -1]), undefined);
  assert.equal(neighbour([], undefined, [0, 1]), null);
});

test('an edge is a line through its points, and has bounds', () => {
  assert.equal(curve([]), '');
  assert.equal(curve([[1, 2], [3, 6]]), 'M1 2C1 4 3 4 3 6');
  assert.deepEqual(bounds({ from: 'a', to: 'b', points: [[1, 2], [3, 6]], label_at: [9, 0] }), { x: 1, y: 0, width: 8, height: 6 });
});

const label = (ms: number) => `${ms} ms`;

test('labels on the axis do not touch, however short the run', () => {
  for (let end = 1; end < 40; end++) {
    const axis: Axis = [0, end * 1.13];
    for (const pixels of [90, 200, 500]) {
      const all = marks(axis, 4, pixels, label);
      let free = -Infinity;
      for (const ms of all) {
        const at = (ms / axis[1]) * pixels;
        const wide = label(ms).length * 6.5;
        const left = ms / axis[1] > 0.8 ? at - wide : at;
        assert.ok(left >= free, `${all} on ${pixels} px to ${axis[1]}`);
        free = left + wide;
      }
      assert.ok(all.length > 0);
    }
  }
});

test('the title of a frame is drawn in the lines that the layout broke it into', () => {
  const frame = { id: 'f0', label: 'a b', note: 'c', x: 0, y: 0, width: 100, height: 90, title_x: 50, title_y: 40, title_lines: [['a', true], ['b', true], ['c', false]] as [string, boolean][] };
  assert.deepEqual(heading(frame).map(({ text, strong, y }) => [text, strong, Math.round(y)]), [['a', true, 28], ['b', true, 44], ['c', false, 60]]);
  assert.deepEqual(heading({ ...frame, title_lines: null }).map(({ text }) => text), ['a b', 'c']);
});
