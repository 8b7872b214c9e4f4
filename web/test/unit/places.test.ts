// Where things are: on the axis of time and in the graph.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ticks, where } from '../../src/parts/axis.ts';
import { bounds, curve, neighbour } from '../../src/parts/geometry.ts';
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
