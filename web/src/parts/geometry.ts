// Where things of the graph are: pure functions over the positions that the trace has.

import { brief } from '../text.ts';
import type { GraphEdge, GraphFrame, GraphNode } from '../trace.ts';

/** What of the graph is in sight: moved by x and y, and enlarged by k. */
export interface Sight {
  x: number;
  y: number;
  k: number;
}

/** The rectangle around an edge and its label. */
export function bounds({ points, label_at }: GraphEdge): { x: number; y: number; width: number; height: number } {
  const all = label_at ? [...points, label_at] : points;
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of all) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** A smooth line through the points, upright at each of them. */
export function curve(points: readonly [number, number][]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let d = `M${first[0]} ${first[1]}`;
  let [x0, y0] = first;
  for (const [x, y] of rest) {
    const middle = (y0 + y) / 2;
    d += `C${x0} ${middle} ${x} ${middle} ${x} ${y}`;
    [x0, y0] = [x, y];
  }
  return d;
}

/** The nearest node in a direction: up and down in the next layer, sideways in the same one. */
export function neighbour(nodes: readonly GraphNode[], from: GraphNode | undefined, [dx, dy]: [number, number]): GraphNode | null {
  if (!from) return nodes[0] ?? null;
  const centre = (n: GraphNode) => [n.x + n.width / 2, n.y + n.height / 2] as const;
  const [x, y] = centre(from);
  let best: GraphNode | null = null;
  let least = Infinity;
  for (const node of nodes) {
    if (node === from) continue;
    const [nx, ny] = centre(node);
    const ahead = (nx - x) * dx + (ny - y) * dy;
    const aside = Math.abs((nx - x) * dy) + Math.abs((ny - y) * dx);
    if (ahead <= 1 || aside > ahead * 4) continue;
    const cost = dx === 0 ? ahead * 2 + aside : ahead + aside * 3;
    if (cost < least) [best, least] = [node, cost];
  }
  return best;
}

/** From one line of a frame's title to the next, in pixels. */
const LEADING = 16.2;

/** The lines of a frame's title, around the place that the layout kept free for them. */
export function heading(frame: GraphFrame): { text: string; strong: boolean; x: number; y: number }[] {
  const lines: [string, boolean][] = frame.title_lines ?? [[frame.label, true], ...(frame.note ? [[frame.note, false] as [string, boolean]] : [])];
  const x = frame.title_x ?? frame.x + frame.width / 2;
  const middle = frame.title_y ?? frame.y + 4 + (lines.length * LEADING) / 2;
  const first = middle - ((lines.length - 1) * LEADING) / 2 + 4;
  // A single word may be longer than a line.
  const most = Math.max(8, Math.floor((frame.width - 8) / 6));
  return lines.map(([text, strong], i) => ({ text: brief(text, most), strong, x, y: first + i * LEADING }));
}
