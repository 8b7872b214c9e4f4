// The axis of time over the list.

/** The part of the run's time that is shown, in milliseconds. */
export type Axis = [number, number];

/** Round numbers at which the axis gets a line. */
export function ticks([from, to]: Axis, most: number): number[] {
  const raw = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1e-9)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.75) ?? raw;
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && out.length <= most + 2; at += step) out.push(at);
  return out;
}

/** From here on, a mark's label is written to the left of its line, in percent of the axis. */
export const TURN = 80;

/** At most so many marks on an axis of so many pixels, fewer where their labels would touch. */
export function marks(axis: Axis, most: number, pixels: number, label: (ms: number) => string): number[] {
  for (let n = most; n > 0; n--) {
    const all = ticks(axis, n);
    if (!touch(all, axis, pixels, label)) return all;
  }
  return [axis[0]];
}

function touch(all: readonly number[], axis: Axis, pixels: number, label: (ms: number) => string): boolean {
  let free = -Infinity;
  return all.some((ms) => {
    const at = (where(ms, axis) / 100) * pixels;
    const wide = label(ms).length * 6.5 + 10;
    const [left, right] = where(ms, axis) > TURN ? [at - wide, at] : [at, at + wide];
    const touches = left < free;
    free = right;
    return touches;
  });
}

/** Where a moment is, in percent of the axis. */
export const where = (ms: number, [from, to]: Axis): number => ((ms - from) / (to - from)) * 100;
