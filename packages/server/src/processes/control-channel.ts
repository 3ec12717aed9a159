/** The supervisor, as its processes see it. When it is gone, they end. */
import { type Clock, realClock } from 'batchwise';
import {
  ALIVE_EVERY_MS,
  type ChildMessage,
  type ControlMessage,
  type ProcessReport,
  type Reload,
} from './control-message.js';
import { setUnrefTimer } from './unref-timer.js';

export interface ControlChannelOptions<S> {
  /** What it throws before the process is ready ends the process, and the server when it is its first start. */
  readonly start: (start: S) => Promise<unknown>;
  /** False when not all that was accepted could be finished: the exit code tells. */
  readonly drain: (timeoutMs: number) => Promise<boolean>;
  readonly reload: (reload: Reload) => void;
  /** The metrics of this process; anything that can be cloned. */
  readonly snapshot: (() => unknown) | undefined;
  readonly clock?: Clock | undefined;
}

/** So much of what was counted is lost with a crash. */
const PUSH_EVERY_MS = 1000;

export class ControlChannel<S> {
  readonly #options: ControlChannelOptions<S>;
  readonly #clock: Clock;
  readonly #questions = new Map<number, (report: ProcessReport) => void>();
  #nextId = 0;
  #isEnding = false;

  constructor(options: ControlChannelOptions<S>) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    if (process.send === undefined || !process.connected) {
      throw new Error('Only the supervisor of a server starts this module.');
    }
    // A terminal sends its signals to all processes, and the supervisor will tell when to end.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
    process.on('disconnect', endAlone);
    process.on('message', (message) => this.#take(message as ControlMessage));
    // For what is thrown where nobody catches it; the process ends all the same.
    process.on('uncaughtExceptionMonitor', (error) => this.#send({ type: 'failed', message: textOf(error) }));
    this.#send({ type: 'listening' });
    this.#showLife();
  }

  /** The metrics of all processes, as far as they answer in time. */
  collectMetrics(deadlineMs: number): Promise<ProcessReport> {
    return new Promise((resolve) => {
      this.#nextId += 1;
      this.#questions.set(this.#nextId, resolve);
      this.#send({ type: 'collect', id: this.#nextId, deadlineMs });
    });
  }

  #take(message: ControlMessage): void {
    switch (message?.type) {
      case 'start':
        void this.#start(message.start as S);
        break;
      case 'drain':
        void this.#drain(message.timeoutMs);
        break;
      case 'reload':
        this.#reload(message.reload);
        break;
      case 'snapshot':
        this.#tellSnapshot(message.id);
        break;
      case 'collected':
        this.#questions.get(message.id)?.(message.report);
        this.#questions.delete(message.id);
        break;
      default:
        break;
    }
  }

  async #start(start: S): Promise<void> {
    try {
      const detail = await this.#options.start(start);
      this.#send({ type: 'ready', detail });
      if (this.#options.snapshot !== undefined) this.#pushSnapshots();
    } catch (error) {
      if (this.#isEnding) return;
      this.#send({ type: 'failed', message: textOf(error) }, () => process.exit(1));
    }
  }

  /** Settings that are refused leave everything as it is. */
  #reload(reload: Reload): void {
    try {
      this.#options.reload(reload);
    } catch (error) {
      console.error(`The settings were not applied: ${textOf(error)}`);
    }
  }

  async #drain(timeoutMs: number): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    let isClean: boolean;
    try {
      isClean = await this.#options.drain(timeoutMs);
    } catch (error) {
      this.#send({ type: 'failed', message: textOf(error) }, () => process.exit(1));
      return;
    }
    const { snapshot } = this.#options;
    // Its last words, once they have left.
    this.#send({ type: 'snapshot', id: undefined, snapshot: snapshot?.() }, () =>
      process.exit(isClean ? 0 : 1),
    );
  }

  #pushSnapshots(): void {
    setUnrefTimer(
      this.#clock,
      () => {
        this.#tellSnapshot(undefined);
        this.#pushSnapshots();
      },
      PUSH_EVERY_MS,
    );
  }

  /** Not part of the snapshots, which take work: whoever is busy with them is alive all the same. */
  #showLife(): void {
    setUnrefTimer(
      this.#clock,
      () => {
        this.#send({ type: 'alive' });
        this.#showLife();
      },
      ALIVE_EVERY_MS,
    );
  }

  #tellSnapshot(id: number | undefined): void {
    this.#send({ type: 'snapshot', id, snapshot: this.#options.snapshot?.() });
  }

  /** With a callback, a channel that is closed is no error: then `disconnect` ends the process. */
  #send(message: ChildMessage, onSent: () => void = () => {}): void {
    process.send?.(message, undefined, undefined, onSent);
  }
}

/**
 * The supervisor is gone. A thread that hangs in code of its model would hold up an orderly exit for ever, so
 * once everybody who wants to has tidied up, there is none.
 */
function endAlone(): void {
  process.on('exit', () => process.kill(process.pid, 'SIGKILL'));
  process.exit(1);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
