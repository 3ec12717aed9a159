/** Looks at the server once a second, as long as somebody looks at the page. */
import { ask, poll } from './poll.js';
import { Scrape } from './scrape.js';
import type { State } from './server-line.js';

const SILENCE = 'the server does not respond';

export interface Watcher {
  scraped(scrape: Scrape): void;
  stateIs(state: State): void;
}

export function watch(watcher: Watcher): Promise<never> {
  return poll(async () => {
    try {
      const [scrape, state] = await Promise.all([metrics(), readiness()]);
      watcher.stateIs(state);
      watcher.scraped(scrape);
    } catch (error) {
      watcher.stateIs({ is: 'silent', why: (error as Error).message });
    }
  });
}

async function metrics(): Promise<Scrape> {
  const response = await ask('metrics', SILENCE);
  // Of when the answer is, however long it was waited for.
  const at = performance.now();
  if (!response.ok) throw new Error(`/metrics returned ${response.status}`);
  return new Scrape(at, await response.text());
}

async function readiness(): Promise<State> {
  const response = await ask('readyz', SILENCE);
  if (response.ok) return { is: 'ready' };
  const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
  return { is: 'not-ready', why: String(problem.detail ?? `Not ready: ${response.status}`) };
}
