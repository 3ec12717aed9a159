/** Looks at the server once a second, as long as somebody looks at the page. */
import { Scrape } from './scrape.js';
import type { State } from './server-line.js';

const EVERY_MS = 1000;
const PATIENCE_MS = 5000;

export interface Watcher {
  scraped(scrape: Scrape): void;
  stateIs(state: State): void;
}

export async function watch(watcher: Watcher): Promise<never> {
  for (;;) {
    await inView();
    const startedAt = performance.now();
    try {
      const [scrape, state] = await Promise.all([metrics(), readiness()]);
      watcher.stateIs(state);
      watcher.scraped(scrape);
    } catch (error) {
      watcher.stateIs({ is: 'silent', why: (error as Error).message });
    }
    await pause(Math.max(100, EVERY_MS - (performance.now() - startedAt)));
  }
}

async function metrics(): Promise<Scrape> {
  const response = await ask('metrics');
  // Of when the answer is, however long it was waited for.
  const at = performance.now();
  if (!response.ok) throw new Error(`/metrics is answered with ${response.status}`);
  return new Scrape(at, await response.text());
}

async function readiness(): Promise<State> {
  const response = await ask('readyz');
  if (response.ok) return { is: 'ready' };
  const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
  return { is: 'not-ready', why: String(problem.detail ?? `Not ready: ${response.status}`) };
}

async function ask(address: string): Promise<Response> {
  try {
    return await fetch(address, { cache: 'no-store', signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch (error) {
    throw new Error('the server does not answer', { cause: error });
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
