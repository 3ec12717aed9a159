/** One web process, as a runner process sees it: the calls that it made and what it is to be told. */
import type { Socket } from 'node:net';
import type { BatchTrace, RunnerSettings } from '@batchwise/runners';
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import { type CallOutlet, HostedCall } from './hosted-call.js';
import type { HostedRunner } from './hosted-runner.js';
import { MessageLink, type MessageLinkOptions } from './message-link.js';
import { toWireError } from './wire-error.js';
import { type CallerMessage, type HostMessage, WIRE } from './wire-message.js';

export interface HostConnectionOptions
  extends Pick<MessageLinkOptions, 'clock' | 'maxFrameBytes' | 'maxBacklogBytes' | 'onFault'> {
  readonly runners: ReadonlyMap<string, HostedRunner>;
  /** Some runner has more or less to do than before. */
  readonly onActivity: () => void;
  readonly onEnd: () => void;
}

export class HostConnection implements CallOutlet {
  readonly #link: MessageLink;
  readonly #options: HostConnectionOptions;
  readonly #calls = new Map<number, HostedCall>();
  /** How many calls it made to each runner; only of those whose load it watches. */
  readonly #watched = new Map<string, number>();

  constructor(socket: Socket, options: HostConnectionOptions) {
    this.#options = options;
    this.#link = new MessageLink(socket, {
      clock: options.clock,
      maxFrameBytes: options.maxFrameBytes,
      maxBacklogBytes: options.maxBacklogBytes,
      onFault: options.onFault,
      // A web process that does not fetch its answers may make no more calls.
      readsOnlyWhenRead: true,
      onMessage: (message) => this.#take(message as HostMessage),
      onUnsendable: (message, error) => this.#unsendable(message as CallerMessage, error),
      beforeFrame: (messages) => this.#addLoads(messages),
      onEnd: () => this.#end(),
    });
    for (const hosted of options.runners.values()) this.describe(hosted);
  }

  get watchesLoad(): boolean {
    return this.#watched.size > 0;
  }

  describe(hosted: HostedRunner): void {
    this.#send([WIRE.runner, hosted.describe()]);
  }

  /** Tells the load even when there is nothing else to tell. */
  tellLoad(): void {
    for (const message of this.#loads()) this.#send(message);
  }

  answer(call: HostedCall, result: unknown, trace: BatchTrace): void {
    this.#calls.delete(call.id);
    this.#send([WIRE.result, call.id, result, trace.batchSize, trace.queueMs, trace.computeMs]);
    this.#options.onActivity();
  }

  fail(call: HostedCall, error: unknown): void {
    this.#calls.delete(call.id);
    this.#send([WIRE.error, call.id, toWireError(error)]);
    this.#options.onActivity();
  }

  close(): void {
    this.#link.close();
  }

  #take(message: HostMessage): void {
    switch (message[0]) {
      case WIRE.call: {
        const [, id, runner, item, options] = message;
        this.#call(id, runner, item, options);
        break;
      }
      case WIRE.cancel: {
        const call = this.#calls.get(message[1]);
        this.#calls.delete(message[1]);
        call?.cancel('the caller cancelled');
        this.#options.onActivity();
        break;
      }
      case WIRE.configure:
        this.#configure(message[1], message[2]);
        break;
      case WIRE.watchLoad:
        this.#watched.set(message[1], 0);
        this.#options.onActivity();
        break;
      default:
        throw unknownMessage(message);
    }
  }

  #call(id: number, runner: string, item: unknown, options: EnqueueOptions | undefined): void {
    if (this.#calls.has(id)) throw unknownMessage([WIRE.call, id]);
    const watched = this.#watched.get(runner);
    if (watched !== undefined) this.#watched.set(runner, watched + 1);
    const hosted = this.#options.runners.get(runner);
    if (hosted === undefined) {
      const error = new BatchwiseError('UNAVAILABLE', `${runner}: no such runner in this process.`);
      this.#send([WIRE.error, id, toWireError(error)]);
      return;
    }
    const call = new HostedCall(id, hosted, this);
    this.#calls.set(id, call);
    call.start(item, options);
    this.#options.onActivity();
  }

  /** Settings that are refused are no reason to hang up. */
  #configure(runner: string, settings: RunnerSettings): void {
    try {
      this.#options.runners.get(runner)?.configure(settings);
    } catch (error) {
      this.#options.onFault?.(error as Error);
    }
  }

  #send(message: CallerMessage): void {
    this.#link.send(message);
  }

  #unsendable(message: CallerMessage, error: Error): void {
    if (message[0] !== WIRE.result) return;
    const names = [...this.#options.runners.keys()].join();
    // What it is that cannot be sent is for the log, not for a client.
    const text = `${names}: a result cannot be sent from the process of this runner.`;
    const fault = new BatchwiseError('BAD_RESULT', text, { cause: error });
    this.#send([WIRE.error, message[1], toWireError(fault)]);
  }

  *#loads(): Generator<CallerMessage> {
    for (const [runner, calls] of this.#watched) {
      const hosted = this.#options.runners.get(runner);
      if (hosted !== undefined) yield [WIRE.load, runner, hosted.load(), calls];
    }
  }

  #addLoads(messages: unknown[]): void {
    if (this.#watched.size === 0) return;
    if ((messages.at(-1) as CallerMessage)[0] === WIRE.load) return;
    messages.push(...this.#loads());
  }

  #end(): void {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#watched.clear();
    for (const call of calls) call.cancel('the process of the caller ended');
    this.#options.onEnd();
  }
}

function unknownMessage(message: unknown): BatchwiseError {
  const what = JSON.stringify(message)?.slice(0, 100);
  return new BatchwiseError('UNAVAILABLE', `Expected a message of a web process, got ${what}.`);
}
