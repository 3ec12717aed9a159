/** Unary calls over one channel, as promises that say how they ended. */
import { GrpcChannel, isCompressed, messageOf, STATUS } from '@batchwise/grpc';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { connectionLoss } from './connection-loss.js';
import { grpcFailure } from './grpc-failure.js';
import { LARGEST_ANSWER_BYTES } from './largest-answer.js';
import { abandoned, answered, type Outcome, unreadable } from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface GrpcCallerOptions {
  readonly target: string;
  readonly tls: UpstreamTls | undefined;
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export interface UnaryOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Between two tries to connect. */
const LONGEST_BACKOFF_MS = 5000;

export class GrpcCaller {
  readonly channel: GrpcChannel;
  readonly #clock: Clock;

  constructor({ target, tls, connections, clock = realClock }: GrpcCallerOptions) {
    this.#clock = clock;
    this.channel = new GrpcChannel({
      target,
      connections,
      clock,
      backoff: { maxMs: LONGEST_BACKOFF_MS },
      ...(tls === undefined ? {} : { tls }),
    });
  }

  /** `frame` has the prefix of gRPC already. */
  unary(path: string, frame: Buffer, { timeoutMs, signal }: UnaryOptions): Promise<Outcome<Buffer>> {
    if (signal?.aborted) return Promise.resolve(abandoned());
    return new Promise((resolve) => {
      const frames: Buffer[] = [];
      const onAbort = () => call.cancel();
      const call = this.channel.call(path, callOptions(timeoutMs), {
        onFrame: (frame) => {
          if (frames.length < 2) frames.push(frame);
        },
        onEnd: (end) => {
          signal?.removeEventListener('abort', onAbort);
          if (signal?.aborted) resolve(abandoned());
          else resolve(end.status === STATUS.OK ? theOnly(frames) : grpcFailure(end));
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      call.write(frame);
      call.end();
    });
  }

  /** Resolves when there is a connection; rejects with why there is none. */
  connected(timeoutMs: number): Promise<void> {
    const { channel } = this;
    if (channel.state === 'ready') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        this.#clock.clearTimer(timer);
        stop();
        if (error === undefined) resolve();
        else reject(error);
      };
      const timer = this.#clock.setTimer(() => settle(this.#lost()), timeoutMs);
      const stop = channel.onStateChange(() => {
        if (channel.state === 'ready') settle();
        else if (channel.state !== 'connecting') settle(this.#lost());
      });
      channel.connect();
    });
  }

  /** Why the connection is lost, or undefined when it is there. */
  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.channel.onStateChange(() => {
      const { state } = this.channel;
      if (state === 'ready') listener(undefined);
      // One that was lost is made again at once: whether it can be is what those who watch want to know.
      else if (state === 'idle') this.channel.connect();
      else if (state === 'failing') listener(this.#lost());
    });
  }

  async close(): Promise<void> {
    this.channel.destroy();
  }

  #lost(): BatchwiseError {
    const { lastError } = this.channel;
    return new BatchwiseError('UNAVAILABLE', connectionLoss(lastError), { cause: lastError });
  }
}

function theOnly(frames: readonly Buffer[]): Outcome<Buffer> {
  const [frame] = frames;
  if (frame === undefined) return unreadable(new Error('expected one message, got none.'));
  if (frames.length > 1) return unreadable(new Error('expected one message, got more.'));
  if (isCompressed(frame)) return unreadable(new Error('it is compressed, which was not asked for.'));
  return answered(messageOf(frame));
}

export function callOptions(timeoutMs: number) {
  const base = { maxMessageBytes: LARGEST_ANSWER_BYTES };
  return Number.isFinite(timeoutMs) ? { ...base, timeoutMs: Math.max(1, timeoutMs) } : base;
}
