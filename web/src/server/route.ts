// Where the page is: a path and a query in the fragment of its address, so that every view has an address, and nothing of it is sent to
// the server.

import { signal } from '@preact/signals';

export interface Route {
  /** `['runs', 'ID', 'steps', 'KEY']`. */
  path: string[];
  query: URLSearchParams;
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function readRoute(hash: string): Route {
  const written = hash.replace(/^#\/?/, '');
  const at = written.indexOf('?');
  const path = (at < 0 ? written : written.slice(0, at)).split('/').filter(Boolean).map(decode);
  return { path, query: new URLSearchParams(at < 0 ? '' : written.slice(at + 1)) };
}

export const route = signal<Route>(readRoute(location.hash));
addEventListener('hashchange', () => (route.value = readRoute(location.hash)));

/** `#/runs/ID?query`. */
export function address(path: string[], query: Record<string, string | null | undefined> = {}): string {
  const set = Object.entries(query).filter((one): one is [string, string] => !!one[1]);
  const search = new URLSearchParams(set).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export function go(to: string) {
  location.hash = to;
}

/** The same view otherwise, without a place of its own in the history. */
export function replace(to: string) {
  history.replaceState(null, '', to);
  route.value = readRoute(location.hash);
}
