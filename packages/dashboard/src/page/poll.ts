/** Looks at a server once a second, as long as the page is in view. */

const EVERY_MS = 1000;
const LEAST_PAUSE_MS = 100;
/** A response that takes longer is given up. */
const PATIENCE_MS = 5000;

/** `look` must not throw. */
export async function poll(look: () => Promise<void>): Promise<never> {
  for (;;) {
    await inView();
    const startedAt = performance.now();
    await look();
    await pause(Math.max(LEAST_PAUSE_MS, EVERY_MS - (performance.now() - startedAt)));
  }
}

/** Never from the browser's cache. `silence` is the message of the error when there is no response. */
export async function ask(address: string, silence: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(address, {
      cache: 'no-store',
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...init,
    });
  } catch (error) {
    throw new Error(silence, { cause: error });
  }
}

function inView(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true });
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
