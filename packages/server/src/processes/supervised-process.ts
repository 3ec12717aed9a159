/**
 * A process that is kept running: started again when it crashes, after waits that double, as long as its
 * very first start went well. One that never became ready has a reason that a restart does not cure.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import { BackOff } from './back-off.js';
import type { ChildExit, ChildHandle } from './child-handle.js';
import {
  ALIVE_EVERY_MS,
  type ChildMessage,
  type ControlMessage,
  type ProcessKind,
  type RunnerStart,
  type WebStart,
} from './control-message.js';
import { setUnrefTimer } from './unref-timer.js';

export interface SupervisedProcessOptions {
  readonly kind: ProcessKind;
  readonly runner: string | undefined;
  readonly index: number;
  readonly clock: Clock;
  readonly spawn: () => ChildHandle;
  /** Asked at every start, so that a restarted process gets the settings of now. */
  readonly start: () => RunnerStart | WebStart;
  /** How long it may show no sign of life, once it is ready, before it counts as hung and is killed. */
  readonly mostSilentMs: () => number;
  /** How long the process may take to end its own child processes when it is to be killed. */
  readonly killGraceMs: number;
  readonly onMessage: (message: ChildMessage, from: SupervisedProcess) => void;
  readonly onEnd: (from: SupervisedProcess) => void;
  readonly log: (line: string) => void;
}

const RESTART = { firstMs: 100, mostMs: 10_000 };
/** When its time is up a process tells those who still wait: it gets so long for that, also where it has to wait for a core. */
const LAST_WORDS_MS = 2000;
/** Who was ready for so long has not crashed because of how it started. */
const HEALTHY_MS = 30_000;

export class SupervisedProcess {
  readonly kind: ProcessKind;
  readonly runner: string | undefined;
  readonly index: number;
  restarts = 0;
  /** What it says of itself when it is ready: settles with the first start. */
  readonly firstReady: Promise<unknown>;
  readonly #options: SupervisedProcessOptions;
  readonly #backOff = new BackOff(RESTART);
  #becomeReady: (detail: unknown) => void = () => {};
  #failFirst: (error: Error) => void = () => {};
  #child: ChildHandle | undefined;
  #hasBeenReady = false;
  /** Undefined while it is not ready. */
  #readyAt: number | undefined;
  #failure: string | undefined;
  #restartTimer: unknown;
  #silentMs = 0;
  #silenceTimer: unknown;
  #isStopping = false;
  readonly #onStopped: ((exit: ChildExit) => void)[] = [];

  constructor(options: SupervisedProcessOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.runner = options.runner;
    this.index = options.index;
    this.firstReady = new Promise((resolve, reject) => {
      this.#becomeReady = resolve;
      this.#failFirst = reject;
    });
    this.firstReady.catch(() => {});
  }

  get label(): string {
    return this.runner === undefined
      ? `web process ${this.index}`
      : `runner process ${this.runner}/${this.index}`;
  }

  get isReady(): boolean {
    return this.#readyAt !== undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  launch(): void {
    if (this.#isStopping) {
      this.#failFirst(
        new BatchwiseError('CLOSED', `${this.label} was not started: the server is shutting down.`),
      );
      return;
    }
    this.#failure = undefined;
    const child = this.#options.spawn();
    this.#child = child;
    child.onMessage((message) => {
      // What was under way when it ended is too late: the books of that process are closed.
      if (this.#child === child) this.#take(message as ChildMessage);
    });
    child.onExit((exit) => this.#ended(exit));
  }

  send(message: ControlMessage): void {
    this.#child?.send(message);
  }

  /** Lets it finish what it has; kills it when that takes too long. True when it finished all of it. */
  async stop(timeoutMs: number): Promise<boolean> {
    this.#isStopping = true;
    this.#options.clock.clearTimer(this.#restartTimer);
    const child = this.#child;
    if (child === undefined) return true;
    return new Promise<boolean>((resolve) => {
      const timer = this.#options.clock.setTimer(() => {
        this.#options.log(`${this.label} did not end within ${timeoutMs} ms and was killed.`);
        child.kill('SIGKILL');
      }, timeoutMs + LAST_WORDS_MS);
      this.#onStopped.push(({ code }) => {
        this.#options.clock.clearTimer(timer);
        resolve(code === 0);
      });
      child.send({ type: 'drain', timeoutMs });
    });
  }

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#isStopping = true;
    this.#options.clock.clearTimer(this.#restartTimer);
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise<void>((resolve) => this.#onStopped.push(() => resolve()));
    const { clock, killGraceMs } = this.#options;
    if (killGraceMs > 0) {
      child.send({ type: 'drain', timeoutMs: 0 });
      const timer = clock.setTimer(() => child.kill('SIGKILL'), killGraceMs);
      this.#onStopped.push(() => clock.clearTimer(timer));
    } else child.kill('SIGKILL');
    await ended;
  }

  #take(message: ChildMessage): void {
    this.#silentMs = 0;
    if (message?.type === 'alive') return;
    if (message?.type === 'listening') this.#begin();
    else if (message?.type === 'ready') {
      this.#hasBeenReady = true;
      this.#readyAt = this.#options.clock.now();
      this.#becomeReady(message.detail);
      this.#listenForLife();
    } else if (message?.type === 'failed') this.#failure = message.message;
    this.#options.onMessage(message, this);
  }

  #begin(): void {
    // Nothing to finish, and a drain that it was told before is lost.
    if (this.#isStopping) this.send({ type: 'drain', timeoutMs: 0 });
    else this.send({ type: 'start', start: this.#options.start() });
  }

  /** Adds up steps of its own instead of reading the clock: when this process itself stood still, nobody was silent. */
  #listenForLife(): void {
    const { clock, mostSilentMs } = this.#options;
    clock.clearTimer(this.#silenceTimer);
    this.#silenceTimer = setUnrefTimer(
      clock,
      () => {
        this.#silentMs += ALIVE_EVERY_MS;
        if (this.#silentMs < mostSilentMs()) return this.#listenForLife();
        this.#failure = `it did not respond for ${this.#silentMs} ms`;
        this.#child?.kill('SIGKILL');
      },
      ALIVE_EVERY_MS,
    );
  }

  #ended(exit: ChildExit): void {
    const readyAt = this.#readyAt;
    this.#options.clock.clearTimer(this.#silenceTimer);
    this.#child = undefined;
    this.#readyAt = undefined;
    this.#options.onEnd(this);
    const text = `${this.label} ${endingOf(exit, this.#failure)}`;
    if (!this.#hasBeenReady) {
      this.#failFirst(new BatchwiseError('UNAVAILABLE', this.#failure ?? `${text} before it was ready.`));
    }
    if (this.#isStopping) {
      for (const onStopped of this.#onStopped.splice(0)) onStopped(exit);
      return;
    }
    if (this.#hasBeenReady) this.#restart(text, readyAt);
  }

  #restart(text: string, readyAt: number | undefined): void {
    const { clock, log } = this.#options;
    if (readyAt !== undefined && clock.now() - readyAt >= HEALTHY_MS) this.#backOff.reset();
    const delayMs = this.#backOff.next();
    this.restarts += 1;
    log(`${text}; restart in ${delayMs} ms.`);
    this.#restartTimer = clock.setTimer(() => this.launch(), delayMs);
  }
}

function endingOf({ code, signal, error }: ChildExit, failure: string | undefined): string {
  if (error !== undefined) return `could not be started (${error.message})`;
  const ending = signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`;
  return failure === undefined ? ending : `${ending} (${failure})`;
}
