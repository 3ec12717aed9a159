/** How batches are formed: of all methods, and in a file of one. */
import { millisecondsKind, risingSizesKind, wholeNumberKind } from '@batchwise/server';
import { metadataKeys, usecs } from './proxy-kinds.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';
import type { MethodSettings } from './proxy-settings.js';

const DAY_MS = 24 * 3_600_000;

export const BATCH_SETTINGS: readonly ProxySetting<keyof MethodSettings>[] = [
  proxySetting('maxBatchSize', wholeNumberKind({ least: 1, most: 65_536 }), {
    flag: '--max-batch-size <count>',
    default: '64',
    meaning: 'The most calls in a batch.',
  }),
  proxySetting('maxWaitMs', usecs, {
    key: 'timeout_usecs',
    flag: '--timeout-usecs <µs>',
    default: 'none',
    meaning:
      'Batches leave when they are full or their first call has waited so long: the window policy. Without this and `max_wait_ms` the moment is learned: the adaptive policy.',
  }),
  proxySetting('maxWaitMs', millisecondsKind({ least: 0, most: DAY_MS }), {
    flag: '--max-wait-ms <ms>',
    default: 'none',
    meaning: 'The same, in milliseconds.',
  }),
  proxySetting('targetLatencyMs', millisecondsKind({ least: 1, most: DAY_MS }), {
    flag: '--target-latency-ms <ms>',
    default: 'none',
    meaning:
      'Target for the total latency of a call. A call that cannot meet it is rejected at once with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('timeoutMs', millisecondsKind({ least: 1, most: DAY_MS }), {
    flag: '--timeout-ms <ms>',
    default: 'none',
    meaning: 'The deadline of calls that come without one.',
  }),
  proxySetting('maxQueueSize', wholeNumberKind({ least: 1, most: 100_000_000 }), {
    flag: '--max-queue-size <count>',
    default: '10000',
    meaning: 'How many calls of a method may wait. One more is refused with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('groupByMetadata', metadataKeys, {
    flag: '--group-by-metadata <key>',
    isRepeated: true,
    default: '[authorization]',
    meaning: 'Calls share a batch only where this metadata is equal. `[]`, or an empty flag: whatever it is.',
  }),
  proxySetting('groupByBytes', risingSizesKind({ most: 2 ** 30 }), {
    flag: '--group-by-bytes <bytes>',
    isRepeated: true,
    default: '[262144]',
    meaning:
      'Calls share a batch only where the lengths of their messages lie between the same two of these bounds. `[]`: whatever they are.',
  }),
];
