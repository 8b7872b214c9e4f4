// Structural keys: the path of labels, with `@PASS`, `[ITEM]`, `#ATTEMPT`, `!TRY` and `~TWIN` where they apply. Marks inside of
// a label are escaped as `%XX`, so that every mark found is one.

const MARK = /@(\d+)|\[(\d+)\]|#(\d+)|!(\d+)/g;

/**
 * `pass 2, item 4`: what the marks of a key, or of a part of one, say. Items count from 1, as the terminal counts them. The
 * first pass goes without saying, unless `all` is to be said.
 */
export function places(key: string, all = false): string {
  const said: string[] = [];
  for (const [, pass, item, attempt, again] of key.matchAll(MARK)) {
    if (pass && (all || pass !== '1')) said.push(`pass ${pass}`);
    else if (item) said.push(`item ${Number(item) + 1}`);
    else if (attempt && attempt !== '1') said.push(`attempt ${attempt}`);
    else if (again) said.push(`try ${again}`);
  }
  return said.join(', ');
}

/** What stands between a step's key and that of the step around it: the structure in between, and the step's own part. */
export function between(key: string, parent: string | null): { middle: string; own: string } {
  let rest = parent && key.startsWith(parent) ? key.slice(parent.length) : key;
  if (rest.startsWith('/')) rest = rest.slice(1);
  const at = rest.lastIndexOf('/');
  return at < 0 ? { middle: '', own: rest } : { middle: rest.slice(0, at), own: rest.slice(at + 1) };
}

/** Whether a part of a key names a pass, an item or an attempt. */
export const hasMarks = (part: string): boolean => part.search(MARK) >= 0;
