/** Waits for that time, or until the signal aborts. Does not throw on abort. */
export const pause = (timeMs: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, timeMs);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
