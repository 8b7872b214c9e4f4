// What somebody has to be told although the place where it happened is gone: an answer that came too late, for example.

import { signal } from '@preact/signals';

/** The last ones, the newest last. */
export const notices = signal<readonly string[]>([]);

const MOST = 3;

export function tellUser(text: string) {
  notices.value = [...notices.peek(), text].slice(-MOST);
}

export function forgetNotice(text: string) {
  notices.value = notices.peek().filter((one) => one !== text);
}
