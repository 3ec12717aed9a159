/**
 * All that a web process does but answering requests. Its module is a few lines:
 *
 *     webProcessMain(async (runners, { settings, collectMetrics }) => {
 *       const server = await startServer(runners, settings, collectMetrics);
 *       return { drain: () => server.drain() };
 *     });
 */
import type { Runner } from '@batchwise/runners';
import { realClock } from 'batchwise';
import { ControlChannel } from './control-channel.js';
import type { ProcessReport, WebStart } from './control-message.js';
import { RemoteRunner } from './remote-runner.js';

export interface WebProcess {
  /** Stops accepting and finishes what was accepted; false when not all of it could be. */
  drain(): Promise<boolean>;
  /** What the supervisor's `start` resolves with: a port, say. */
  readonly detail?: unknown;
}

export interface WebContext {
  readonly settings: unknown;
  collectMetrics(deadlineMs: number): Promise<ProcessReport>;
}

export interface WebProcessOptions {
  /** The metrics of this process; anything that can be cloned. */
  readonly snapshot?: (() => unknown) | undefined;
}

/** A web process that comes back looks for its runners first. While one is down it serves the others, and says so. */
const WAIT_FOR_RUNNERS_MS = 5000;

export function webProcessMain(
  startWeb: (runners: Map<string, Runner>, context: WebContext) => Promise<WebProcess>,
  options: WebProcessOptions = {},
): void {
  const runners = new Map<string, RemoteRunner>();
  let web: WebProcess | undefined;

  const channel: ControlChannel<WebStart> = new ControlChannel<WebStart>({
    async start(start) {
      for (const runner of start.runners) runners.set(runner.name, new RemoteRunner(runner));
      const remotes = [...runners.values()];
      if (start.isRestart) {
        await within(Promise.allSettled(remotes.map(({ ready }) => ready)), WAIT_FOR_RUNNERS_MS);
      }
      web = await startWeb(runners, {
        settings: start.settings,
        collectMetrics: (deadlineMs) => channel.collectMetrics(deadlineMs),
      });
      // It listens; that it can serve is another matter. A runner that cannot start ends the server.
      if (!start.isRestart) await Promise.all(remotes.map((remote) => remote.allReady()));
      return web.detail;
    },
    async drain(timeoutMs) {
      const isClean = (await web?.drain()) ?? true;
      await Promise.all([...runners.values()].map((runner) => runner.close({ timeoutMs })));
      return isClean;
    },
    reload({ runners: changed }) {
      for (const [name, settings] of changed) runners.get(name)?.configure(settings);
    },
    snapshot: options.snapshot,
  });
}

function within(settled: Promise<unknown>, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = realClock.setTimer(resolve, timeoutMs);
    settled.then(() => {
      realClock.clearTimer(timer);
      resolve();
    });
  });
}
