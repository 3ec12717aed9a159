/** Unary gRPC calls over one channel. The promises resolve with the outcome. */
import { GrpcChannel, isCompressed, messageOf, STATUS } from '@batchwise/grpc';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { grpcFailure } from './grpc-failure.js';
import {
  abandoned,
  answered,
  connectionLoss,
  MAX_RESPONSE_BYTES,
  type Outcome,
  unreadable,
} from './outcome.js';
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

/** The maximum delay between connection attempts. */
const MAX_BACKOFF_MS = 5000;

export class GrpcCaller {
  readonly channel: GrpcChannel;
  readonly #clock: Clock;

  constructor({ target, tls, connections, clock = realClock }: GrpcCallerOptions) {
    this.#clock = clock;
    this.channel = new GrpcChannel({
      target,
      connections,
      clock,
      backoff: { maxMs: MAX_BACKOFF_MS },
      ...(tls === undefined ? {} : { tls }),
    });
  }

  /** `frame` includes the gRPC prefix. */
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
          else resolve(end.status === STATUS.OK ? singleMessage(frames) : grpcFailure(end));
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      call.write(frame);
      call.end();
    });
  }

  /** Resolves when the channel is connected, rejects with the reason if the connection fails. */
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
      const timer = this.#clock.setTimer(() => settle(this.#connectionError()), timeoutMs);
      const stop = channel.onStateChange(() => {
        if (channel.state === 'ready') settle();
        else if (channel.state !== 'connecting') settle(this.#connectionError());
      });
      channel.connect();
    });
  }

  /** Calls the listener with the connection error, or with undefined when the channel is connected. */
  onConnectionChange(listener: (error: Error | undefined) => void): void {
    this.channel.onStateChange(() => {
      const { state } = this.channel;
      if (state === 'ready') listener(undefined);
      // Reconnects immediately, because the listener needs to know whether the upstream is reachable.
      else if (state === 'idle') this.channel.connect();
      else if (state === 'failing') listener(this.#connectionError());
    });
  }

  async close(): Promise<void> {
    this.channel.destroy();
  }

  #connectionError(): BatchwiseError {
    const { lastError } = this.channel;
    return new BatchwiseError('UNAVAILABLE', connectionLoss(lastError), { cause: lastError });
  }
}

function singleMessage(frames: readonly Buffer[]): Outcome<Buffer> {
  const [frame] = frames;
  if (frame === undefined) return unreadable(new Error('expected one message, got none.'));
  if (frames.length > 1) return unreadable(new Error('expected one message, got more.'));
  if (isCompressed(frame))
    return unreadable(new Error('expected an uncompressed message, got a compressed one.'));
  return answered(messageOf(frame));
}

export function callOptions(timeoutMs: number) {
  const base = { maxMessageBytes: MAX_RESPONSE_BYTES };
  return Number.isFinite(timeoutMs) ? { ...base, timeoutMs: Math.max(1, timeoutMs) } : base;
}
