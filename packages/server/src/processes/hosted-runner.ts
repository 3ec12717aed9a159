/** A runner in its own process, as the host knows it. */
import type { Runner, RunnerSettings } from '@batchwise/runners';
import { loadByCalls, loadOf, type RunnerLoad } from './runner-load.js';
import { toWireError, type WireError } from './wire-error.js';
import type { RunnerDescription } from './wire-message.js';

export class HostedRunner {
  readonly runner: Runner;
  /** Calls of all connections that have no answer yet. */
  calls = 0;
  #settings: RunnerSettings;
  #error: WireError | undefined;

  constructor(runner: Runner, settings: RunnerSettings) {
    this.runner = runner;
    this.#settings = settings;
  }

  failed(error: unknown): void {
    this.#error = toWireError(error);
  }

  configure(settings: RunnerSettings): void {
    this.runner.configure(settings);
    this.#settings = settings;
  }

  load(): RunnerLoad {
    const stats = this.runner.stats();
    return stats === undefined ? loadByCalls(this.calls) : loadOf(stats, this.#settings);
  }

  describe(): RunnerDescription {
    const { name, kind, platform, state, problem, isGrouped, signature } = this.runner;
    return { name, kind, platform, state, problem, isGrouped, signature, error: this.#error };
  }
}
