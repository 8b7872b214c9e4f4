// Asks again and again, as long as somebody looks.

import { useEffect } from 'preact/hooks';

/** Calls at once, then again after each pause, and not while the page is hidden. `of`: what it depends on. */
export function useRepeated(call: (signal: AbortSignal) => Promise<unknown>, pause: number, of: unknown[]) {
  useEffect(() => {
    const gone = new AbortController();
    let timer = 0;
    let wanted = true;
    let pending = false;
    const turn = async () => {
      clearTimeout(timer);
      if (gone.signal.aborted || pending) return;
      if (document.hidden && !wanted) return;
      wanted = false;
      pending = true;
      await call(gone.signal).catch(() => {});
      pending = false;
      if (!gone.signal.aborted) timer = setTimeout(turn, pause) as unknown as number;
    };
    const seen = () => {
      if (document.hidden) return;
      void turn();
    };
    void turn();
    document.addEventListener('visibilitychange', seen);
    addEventListener('online', seen);
    return () => {
      gone.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', seen);
      removeEventListener('online', seen);
    };
  }, of);
}
