/** A channel without a network: the test controls the backend. */
import type { IncomingHttpHeaders } from 'node:http2';
import {
  type CallEnd,
  type CallHandlers,
  type CallOptions,
  type ChannelOptions,
  type ChannelState,
  frameOf,
  type GrpcChannel,
  messageOf,
  type OutgoingCall,
  STATUS,
} from '@batchwise/grpc';
import { splitFrames } from './split-frames.js';

export class FakeChannel {
  readonly target: string;
  readonly options: ChannelOptions;
  readonly calls: FakeOutgoingCall[] = [];
  state: ChannelState = 'idle';
  lastError: Error | undefined = undefined;
  isClosed = false;
  readonly #listeners = new Set<(state: ChannelState) => void>();

  constructor(options: ChannelOptions) {
    this.options = options;
    this.target = options.target;
  }

  /** The fake with the type that the tested code expects. */
  get asChannel(): GrpcChannel {
    return this as unknown as GrpcChannel;
  }

  connect(): void {
    if (this.state === 'idle') this.become('connecting');
  }

  become(state: ChannelState, error?: Error): void {
    this.lastError = error;
    this.state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }

  onStateChange(listener: (state: ChannelState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  call(path: string, options: CallOptions, handlers: CallHandlers): OutgoingCall {
    const call = new FakeOutgoingCall(path, options, handlers);
    this.calls.push(call);
    return call;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  destroy(): void {
    this.isClosed = true;
    for (const call of this.calls) call.ends(STATUS.UNAVAILABLE, { message: 'the channel was destroyed' });
  }

  /** The calls that have not ended. */
  get open(): readonly FakeOutgoingCall[] {
    return this.calls.filter(({ isOver }) => !isOver);
  }
}

export class FakeOutgoingCall implements OutgoingCall {
  readonly path: string;
  readonly options: CallOptions;
  isOver = false;
  isCancelled = false;
  hasHalfClosed = false;
  /** The return value of `write`: false applies backpressure. */
  hasRoom = true;
  readonly #handlers: CallHandlers;
  readonly #written: Buffer[] = [];
  #onDrain: (() => void) | undefined = undefined;

  constructor(path: string, options: CallOptions, handlers: CallHandlers) {
    this.path = path;
    this.options = options;
    this.#handlers = handlers;
  }

  /** The received messages, as text. */
  get texts(): readonly string[] {
    return splitFrames(Buffer.concat(this.#written)).map((frame) => messageOf(frame).toString());
  }

  get writes(): number {
    return this.#written.length;
  }

  write(bytes: Buffer): boolean {
    this.#written.push(bytes);
    return this.hasRoom;
  }

  end(last?: Buffer): void {
    if (last !== undefined) this.write(last);
    this.hasHalfClosed = true;
  }

  cancel(): void {
    this.isCancelled = true;
    this.ends(STATUS.CANCELLED);
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback;
  }

  pause(): void {}

  resume(): void {}

  // The actions of the backend

  drains(): void {
    this.hasRoom = true;
    this.#onDrain?.();
  }

  sendsHeaders(headers: IncomingHttpHeaders): void {
    if (!this.isOver) this.#handlers.onHeaders?.(headers);
  }

  answers(...texts: string[]): void {
    for (const text of texts) if (!this.isOver) this.#handlers.onFrame(frameOf(Buffer.from(text)));
  }

  /** Answers every message with its text in upper case, and ends with OK. */
  echoes(): void {
    this.answers(...this.texts.map((text) => text.toUpperCase()));
    this.ends(STATUS.OK);
  }

  ends(status: number, end: Partial<CallEnd> = {}): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#handlers.onEnd({
      status,
      message: '',
      trailers: status === STATUS.OK ? { 'grpc-status': '0' } : {},
      isUnseen: false,
      ...end,
    });
  }
}
