// Moments of a run, which the time bar goes through.

/** The index of the last moment that is not later. */
export function momentAt(moments: number[], ms: number): number | null {
  let at: number | null = null;
  for (let i = 0; i < moments.length && moments[i]! <= ms; i++) at = i;
  return at;
}
