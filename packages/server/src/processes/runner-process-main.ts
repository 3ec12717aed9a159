/**
 * All that a runner process does but making the runner. Its module is a few lines:
 *
 *     runnerProcessMain(({ name, settings, source }) => makeRunner(name, source, settings));
 */
import { rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Runner, RunnerSettings } from '@batchwise/runners';
import { ControlChannel } from './control-channel.js';
import type { KnownRunner, RunnerStart } from './control-message.js';
import { RunnerHost } from './runner-host.js';

export interface RunnerProcessOptions {
  /** The metrics of this process; anything that can be cloned. */
  readonly snapshot?: (() => unknown) | undefined;
  /** The runner goes by these settings from now on. */
  readonly onConfigured?: ((runner: Runner, settings: RunnerSettings) => void) | undefined;
}

export function runnerProcessMain(
  makeRunner: (start: RunnerStart) => Runner | Promise<Runner>,
  options: RunnerProcessOptions = {},
): void {
  const host = new RunnerHost({ onFault: (error) => console.error(error.message) });
  let runner: Runner | undefined;

  new ControlChannel<RunnerStart>({
    async start(start): Promise<KnownRunner> {
      process.on('exit', () => {
        // As long as there is a supervisor, the next process needs the folder.
        if (!process.connected) removeSocket(start.socket);
      });
      runner = await makeRunner(start);
      host.add(runner, start.settings);
      await host.listen(start.socket);
      await runner.ready;
      const { kind, platform, signature } = runner;
      return { kind, platform, signature };
    },
    async drain(timeoutMs) {
      await runner?.close({ timeoutMs });
      await host.close();
      return true;
    },
    reload({ runners }) {
      const settings = runner === undefined ? undefined : runners.get(runner.name);
      if (runner === undefined || settings === undefined) return;
      host.configure(runner.name, settings);
      options.onConfigured?.(runner, settings);
    },
    snapshot: options.snapshot,
  });
}

/** With the folder when it is the last: the supervisor was killed and cannot do it. */
function removeSocket(socket: string): void {
  try {
    rmSync(socket, { force: true });
    rmdirSync(dirname(socket));
  } catch {
    // Others still have theirs in it.
  }
}
