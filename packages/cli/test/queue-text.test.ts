import { PLAIN } from '@batchwise/arena';
import type { DeadLetter, LevelStatus, QueueStatus } from '@batchwise/redis';
import { describe, expect, test } from 'vitest';
import { letterJson, lettersTable } from '../src/queue/dead-text.js';
import { queueJson, queueText } from '../src/queue/queue-text.js';
import { textTable } from '../src/terminal/text-table.js';

const nothing: LevelStatus = { depth: 0, waiting: 0, pending: 0, lagMs: 0, oldestAgeMs: 0 };
const busy: LevelStatus = { depth: 1234, waiting: 1170, pending: 64, lagMs: 950, oldestAgeMs: 90_000 };

const status: QueueStatus = {
  queue: 'digits',
  ...busy,
  redelivered: 3,
  died: 2,
  deadLetters: 1,
  ratePerSecond: 5300.4,
  perLevel: { high: nothing, normal: busy, low: nothing },
  processors: [
    {
      id: 'a',
      host: 'gpu-1',
      pid: 41,
      isPaused: false,
      ratePerSecond: 5300.4,
      running: 64,
      queued: 0,
      maxBatchSize: 64,
      seenMsAgo: 2100,
      leaseMs: 15_000,
    },
    {
      id: 'b',
      host: 'x',
      pid: 7,
      isPaused: false,
      ratePerSecond: 0,
      running: 0,
      queued: 0,
      maxBatchSize: Number.POSITIVE_INFINITY,
      seenMsAgo: 12,
      leaseMs: 15_000,
    },
    {
      id: 'c',
      host: 'y',
      pid: 8,
      isPaused: true,
      ratePerSecond: 0,
      running: 3,
      queued: 0,
      maxBatchSize: 8,
      seenMsAgo: 5,
      leaseMs: 15_000,
    },
  ],
};

test('a queue as text', () => {
  expect(queueText(status, PLAIN)).toBe(`Queue digits
  outstanding     1,234  1,170 waiting, 64 fetched by workers
  oldest        1.5 min  age of the oldest item
  lag            950 ms  age of the oldest item that no worker has fetched
  capacity        5,300  estimate of the highest rate of all workers together, in items per second
  redelivered         3  items taken over from workers without heartbeat, so far
  dead letters        1  of 2 so far

priority  outstanding  waiting  fetched     lag   oldest
high                0        0        0    0 ms     0 ms
normal          1,234    1,170       64  950 ms  1.5 min
low                 0        0        0    0 ms     0 ms

worker  pid  capacity  running  queued  max batch  heartbeat
gpu-1    41     5,300       64       0         64  2.1 s ago
x         7         –        0       0        any  12 ms ago
y         8    paused        3       0          8   5 ms ago
`);
  expect(queueText({ ...status, processors: [] }, PLAIN)).toMatch(/\n\nNo workers\.\n$/);
});

test('dead letters are red', () => {
  const marked = { ...PLAIN, bad: (text: string) => `!${text}!` };
  expect(queueText(status, marked)).toMatch(/dead letters {2}! +1!/);
  expect(queueText({ ...status, deadLetters: 0 }, marked)).not.toContain('!');
});

test('a queue as JSON: unknown values are null', () => {
  expect(queueJson(status)).toMatchObject({
    queue: 'digits',
    depth: 1234,
    lag_ms: 950,
    oldest_age_ms: 90_000,
    dead_letters: 1,
    rate_per_second: 5300.4,
    per_level: { normal: { waiting: 1170, pending: 64 } },
    processors: [
      { host: 'gpu-1', max_batch_size: 64, seen_ms_ago: 2100 },
      { paused: false, rate_per_second: null, max_batch_size: null },
      { paused: true, rate_per_second: null, running: 3 },
    ],
  });
});

describe('dead letters', () => {
  const letter: DeadLetter = {
    id: '1712345678901-0',
    diedAt: new Date(1712345678901),
    submittedAt: new Date(1712345670000),
    deliveries: 3,
    priority: 'normal',
    client: 'json-x',
    number: 4,
    originalId: '1712345670000-2',
    payload: { text: 'x'.repeat(200) },
  };

  test('have one line each, within the width of the terminal', () => {
    const lines = lettersTable([letter, { ...letter, payload: Buffer.from([1, 2]) }], 100);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^id +died +deliveries +priority +payload$/);
    expect(lines[1]).toMatch(/^1712345678901-0 {2}2024-04-05T19:34:38\.901Z +3 {2}normal +\{"text":"x+…$/);
    expect(lines[1]?.length).toBeLessThanOrEqual(100);
    expect(lines[2]).toMatch(/ 2 bytes$/);
  });

  test('have a truncated payload if the width of the terminal is unknown', () => {
    const [, line = ''] = lettersTable([letter], undefined);
    expect(line.length).toBeLessThan(130);
  });

  test('as JSON have all fields', () => {
    expect(letterJson(letter)).toEqual({
      id: '1712345678901-0',
      died_at: '2024-04-05T19:34:38.901Z',
      submitted_at: '2024-04-05T19:34:30.000Z',
      deliveries: 3,
      priority: 'normal',
      client: 'json-x',
      number: 4,
      original_id: '1712345670000-2',
      payload: letter.payload,
    });
    expect(letterJson({ ...letter, payload: Buffer.from([1, 2]) })).toMatchObject({ payload_base64: 'AQI=' });
  });
});

test('a table has columns as wide as their widest cell', () => {
  expect(
    textTable([{ title: 'a' }, { title: 'count', align: 'right' }, { title: 'c' }], [['long one', '7', '']]),
  ).toEqual(['a         count  c', 'long one      7']);
});
