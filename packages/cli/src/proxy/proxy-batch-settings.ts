/** Settings of batches, for all methods, and in a file for one method. */
import { millisecondsKind, risingSizesKind, wholeNumberKind } from '@batchwise/server';
import { metadataKeys, usecs } from './proxy-kinds.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';
import type { MethodSettings } from './proxy-settings.js';

const DAY_MS = 24 * 3_600_000;

export const BATCH_SETTINGS: readonly ProxySetting<keyof MethodSettings>[] = [
  proxySetting('maxBatchSize', wholeNumberKind({ least: 1, most: 65_536 }), {
    flag: '--max-batch-size <count>',
    default: '64',
    meaning: 'The maximum batch size, in calls.',
  }),
  proxySetting('maxWaitMs', usecs, {
    key: 'timeout_usecs',
    flag: '--timeout-usecs <µs>',
    default: 'none',
    meaning:
      'The maximum time that a call is held, in microseconds: the window policy. Without this and `max_wait_ms` the adaptive policy is used.',
  }),
  proxySetting('maxWaitMs', millisecondsKind({ least: 0, most: DAY_MS }), {
    flag: '--max-wait-ms <ms>',
    default: 'none',
    meaning: 'The maximum time that a call is held, in milliseconds.',
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
    meaning: 'The deadline of calls without one.',
  }),
  proxySetting('maxQueueSize', wholeNumberKind({ least: 1, most: 100_000_000 }), {
    flag: '--max-queue-size <count>',
    default: '10000',
    meaning: 'The maximum queue length of a method. Further calls are rejected with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('groupByMetadata', metadataKeys, {
    flag: '--group-by-metadata <key>',
    isRepeated: true,
    default: '[authorization]',
    meaning: 'Calls share a batch only if this metadata is equal. `[]`, or an empty flag, ignores metadata.',
  }),
  proxySetting('groupByBytes', risingSizesKind({ most: 2 ** 30 }), {
    flag: '--group-by-bytes <bytes>',
    isRepeated: true,
    default: '[262144]',
    meaning:
      'Calls share a batch only if their message sizes are between the same two bounds. `[]` ignores sizes.',
  }),
];
