/**
 * Every batch is published on the diagnostics channel `batchwise:batch`, in Node the real one of
 * `node:diagnostics_channel`, elsewhere a small stand-in with the same calls. With nobody listening
 * it costs a look at a flag.
 */

import { throwLater } from '../errors/throw-later.js';
import type { Reason } from '../policy/policy.js';

/** A batch, as subscribers and sinks see it. */
export interface BatchRecord {
  /** The batcher's name. */
  readonly name: string;
  readonly size: number;
  readonly cost: number;
  readonly reason: Reason;
  /** What `groupOf` said of its items. */
  readonly group: unknown;
  readonly startedAt: number;
  /** From start to the handler's answer, re-runs included; NaN while it is running. */
  readonly durationMs: number;
  /** How long each item waited, in the order of the batch. */
  readonly waitsMs: readonly number[];
  /** How often the handler was called: more than once when a failed batch was taken apart. */
  readonly calls: number;
  /** How the callers fared: answered, failed by their own or the batch's error. */
  readonly succeeded: number;
  readonly failed: number;
  /** What the handler threw last, or why it was given up; undefined when all went well. */
  readonly error: unknown;
}

export type BatchListener = (batch: BatchRecord) => void;

interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
  subscribe(listener: (message: unknown) => void): void;
  unsubscribe(listener: (message: unknown) => void): unknown;
}

export const BATCH_CHANNEL = 'batchwise:batch';

export const batchChannel: Channel = nodeChannel() ?? localChannel();

/** Calls the listener with every batch of every batcher; returns a function that ends it. */
export function onBatch(listener: BatchListener): () => void {
  const subscriber = (message: unknown): void => listener(message as BatchRecord);
  batchChannel.subscribe(subscriber);
  return () => {
    batchChannel.unsubscribe(subscriber);
  };
}

function nodeChannel(): Channel | undefined {
  // Not an import: a bundler for the browser would trip over it.
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  const diagnostics = process?.getBuiltinModule?.('node:diagnostics_channel') as
    | { channel(name: string): Channel }
    | undefined;
  return diagnostics?.channel(BATCH_CHANNEL);
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
          throwLater(error); // as in Node: a listener's fault is not the publisher's
        }
      }
    },
    subscribe: (listener) => void listeners.add(listener),
    unsubscribe: (listener) => listeners.delete(listener),
  };
}
