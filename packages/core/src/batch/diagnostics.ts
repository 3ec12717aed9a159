/**
 * Every batch is published on the diagnostics channel `batchwise:batch`, in Node the real one of
 * `node:diagnostics_channel`, elsewhere a small stand-in with the same calls. Without subscribers
 * it costs one read of a flag.
 */

import { throwUncaught } from '../errors/errors.js';
import type { Reason } from '../policy/policy.js';
import { nodeModule } from './async-context.js';

/** A batch, as subscribers and sinks see it. */
export interface BatchRecord {
  /** The batcher's name. */
  readonly name: string;
  readonly size: number;
  readonly cost: number;
  readonly reason: Reason;
  /** The value of `groupOf` for its items. */
  readonly group: unknown;
  readonly startedAt: number;
  /** From start to the handler's answer, re-runs included; NaN while the batch is running. */
  readonly durationMs: number;
  /** How long each item waited, in the order of the batch. */
  readonly waitsMs: readonly number[];
  /** Calls of the handler: more than one when a failed batch was bisected. */
  readonly calls: number;
  /** Callers that got a result, and callers that got an error: their item's or the batch's. */
  readonly succeeded: number;
  readonly failed: number;
  /** What the handler threw last, or the time-out; undefined after success. */
  readonly error: unknown;
  /** The id of the backend that ran it; undefined where a handler did. */
  readonly backend: string | undefined;
}

export type BatchListener = (batch: BatchRecord) => void;

interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
  subscribe(listener: (message: unknown) => void): void;
  unsubscribe(listener: (message: unknown) => void): unknown;
}

export const BATCH_CHANNEL = 'batchwise:batch';

export const batchChannel: Channel =
  nodeModule<{ channel(name: string): Channel }>('node:diagnostics_channel')?.channel(BATCH_CHANNEL) ??
  localChannel();

/** Calls the listener with every batch of every batcher; returns a function that removes the listener. */
export function onBatch(listener: BatchListener): () => void {
  const subscriber = (message: unknown): void => listener(message as BatchRecord);
  batchChannel.subscribe(subscriber);
  return () => {
    batchChannel.unsubscribe(subscriber);
  };
}

function localChannel(): Channel {
  const listeners = new Set<(message: unknown) => void>();
  return {
    get hasSubscribers() {
      return listeners.size > 0;
    },
    publish(message) {
      for (const listener of [...listeners]) {
        try {
          listener(message);
        } catch (error) {
          throwUncaught(error); // as in Node: the publisher goes on
        }
      }
    },
    subscribe: (listener) => void listeners.add(listener),
    unsubscribe: (listener) => listeners.delete(listener),
  };
}
