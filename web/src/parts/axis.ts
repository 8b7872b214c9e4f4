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

/** Where a moment is, in percent of the axis. */
export const where = (ms: number, [from, to]: Axis): number => ((ms - from) / (to - from)) * 100;
