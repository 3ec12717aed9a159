/**
 * The connection of a web process to one runner process: it reconnects after a loss, holds the calls in flight, and
 * predicts the latency of one more call. When the connection is lost, its calls are rejected at once.
 */
import { connect } from 'node:net';
import type { RunnerSettings, RunnerSink } from '@batchwise/runners';
import { BatchwiseError, type Clock, type EnqueueOptions } from 'batchwise';
import { BackOff } from './back-off.js';
import { MessageLink, type MessageLinkOptions } from './message-link.js';
import { type CallKeeper, RemoteCall } from './remote-call.js';
import type { RunnerLoad } from './runner-load.js';
import { setUnrefTimer } from './unref-timer.js';
import { fromWireError } from './wire-error.js';
import { type CallerMessage, type HostMessage, type RunnerDescription, WIRE } from './wire-message.js';

export interface ReplicaOptions extends Pick<MessageLinkOptions, 'maxFrameBytes' | 'maxBacklogBytes'> {
  readonly name: string;
  readonly socket: string;
  readonly clock: Clock;
  readonly watchesLoad: boolean;
  readonly onDescribed: (description: RunnerDescription) => void;
  readonly onLost: () => void;
  /** Called whenever the last call is settled. */
  readonly onIdle: () => void;
}

/** A restart of the process takes longer than the first delay; an attempt costs one system call. */
const RECONNECT = { firstMs: 10, mostMs: 500 };
const NO_LOAD: RunnerLoad = { waitMs: 0, waitMsPerCall: 1 };

export class Replica implements CallKeeper {
  readonly #options: ReplicaOptions;
  readonly #backOff = new BackOff(RECONNECT);
  #link: MessageLink | undefined;
  #reconnectTimer: unknown;
  #isClosed = false;
  #state: RunnerDescription['state'] = 'loading';
  #problem: string | undefined;
  #calls = new Map<number, RemoteCall>();
  #nextId = 0;
  #load = NO_LOAD;
  #loadAt = 0;
  /** Calls sent over this connection, and how many of them the load includes. */
  #sent = 0;
  #counted = 0;
  /** The latest settings, for a restarted process. */
  #settings: RunnerSettings | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#connect();
  }

  get name(): string {
    return this.#options.name;
  }

  get state(): RunnerDescription['state'] {
    return this.#state;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get isCongested(): boolean {
    return this.#link?.isCongested === true;
  }

  get outstanding(): number {
    return this.#calls.size;
  }

  /** The last report, minus the time since, plus the calls sent since. */
  waitMs(now: number): number {
    const { waitMs, waitMsPerCall } = this.#load;
    return Math.max(0, waitMs - (now - this.#loadAt)) + waitMsPerCall * (this.#sent - this.#counted);
  }

  call(
    item: unknown,
    sink: RunnerSink<unknown>,
    options: EnqueueOptions | undefined,
    lateAt: number,
  ): RemoteCall {
    this.#nextId += 1;
    const call = new RemoteCall(this.#nextId, lateAt, this, sink);
    this.#calls.set(call.id, call);
    this.#sent += 1;
    this.#send([WIRE.call, call.id, this.name, item, options]);
    return call;
  }

  forget(call: RemoteCall): void {
    if (!this.#calls.delete(call.id)) return;
    this.#send([WIRE.cancel, call.id]);
    if (this.#calls.size === 0) this.#options.onIdle();
  }

  configure(settings: RunnerSettings): void {
    this.#settings = settings;
    this.#send([WIRE.configure, this.name, settings]);
  }

  /** Rejects overdue calls. Returns when the next one is due. */
  endLate(now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls.values()) {
      if (call.lateAt <= now) {
        call.giveUp('DEADLINE_EXCEEDED', 'the runner process did not respond within the timeout.');
      } else if (call.lateAt < next) next = call.lateAt;
    }
    return next;
  }

  /** Rejects the calls in flight with `CLOSED`. */
  close(): void {
    this.#isClosed = true;
    this.#options.clock.clearTimer(this.#reconnectTimer);
    for (const call of [...this.#calls.values()]) {
      call.giveUp('CLOSED', 'the runner was closed before the response arrived.');
    }
    this.#link?.close();
    this.#state = 'closed';
  }

  #connect(): void {
    const { clock, maxFrameBytes, maxBacklogBytes, socket } = this.#options;
    const link = new MessageLink(connect(socket), {
      clock,
      maxFrameBytes,
      maxBacklogBytes,
      onMessage: (message) => this.#take(message as CallerMessage),
      onUnsendable: (message, error) => this.#unsendable(message as HostMessage, error),
      onEnd: (error) => this.#lost(error),
    });
    this.#link = link;
    if (this.#options.watchesLoad) this.#send([WIRE.watchLoad, this.name]);
    if (this.#settings !== undefined) this.#send([WIRE.configure, this.name, this.#settings]);
  }

  #send(message: HostMessage): void {
    this.#link?.send(message);
  }

  #take(message: CallerMessage): void {
    switch (message[0]) {
      case WIRE.result: {
        const [, id, result, batchSize, queueMs, computeMs] = message;
        this.#settled(id)?.resolve(result, { batchSize, queueMs, computeMs });
        break;
      }
      case WIRE.error:
        this.#settled(message[1])?.reject(fromWireError(message[2]));
        break;
      case WIRE.load:
        if (message[1] !== this.name) break;
        this.#load = message[2];
        this.#loadAt = this.#options.clock.now();
        this.#counted = message[3];
        break;
      case WIRE.runner:
        if (message[1].name === this.name) this.#described(message[1]);
        break;
      default:
        throw new BatchwiseError(
          'UNAVAILABLE',
          `Expected a message of a runner process, got ${String((message as readonly unknown[] | null)?.[0])}.`,
        );
    }
    if (this.#calls.size === 0) this.#options.onIdle();
  }

  #described(description: RunnerDescription): void {
    this.#state = description.state;
    this.#problem = description.problem;
    this.#backOff.reset();
    this.#options.onDescribed(description);
  }

  /** Undefined if the call is settled already. */
  #settled(id: number): RemoteCall | undefined {
    const call = this.#calls.get(id);
    if (call !== undefined) this.#calls.delete(id);
    return call;
  }

  #unsendable(message: HostMessage, error: Error): void {
    if (message[0] !== WIRE.call) return;
    this.#settled(message[1])?.reject(this.#unsendableError(error));
    if (this.#calls.size === 0) this.#options.onIdle();
  }

  /** A request that is too large is an error of the client; a function in an item is an error of the service. */
  #unsendableError(error: Error): BatchwiseError {
    const code = error instanceof BatchwiseError ? error.code : 'HANDLER_FAILED';
    const text = `${this.name}: an item cannot be sent to the process of this runner: ${error.message}`;
    return new BatchwiseError(code, text, { cause: error });
  }

  #lost(cause: Error): void {
    this.#link = undefined;
    if (this.#isClosed) return;
    this.#state = 'loading';
    this.#problem = undefined;
    this.#load = NO_LOAD;
    this.#sent = 0;
    this.#counted = 0;
    const calls = this.#calls;
    this.#calls = new Map();
    // Before the callbacks, which may close the runner and clear this timer.
    this.#reconnectTimer = setUnrefTimer(this.#options.clock, () => this.#connect(), this.#backOff.next());
    this.#options.onLost();
    if (calls.size === 0) return;
    const text = `${this.name}: the process that ran the call was lost. Try again.`;
    const error = new BatchwiseError('UNAVAILABLE', text, { cause });
    for (const call of calls.values()) call.reject(error);
    this.#options.onIdle();
  }
}
