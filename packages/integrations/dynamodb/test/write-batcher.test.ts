import { VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Write, type WriteBatcherOptions, writeBatcher } from '../src/index.js';
import { outcomes } from './support/outcomes.js';
import { type Plan, ScriptedTable, sdkError } from './support/scripted-table.js';

function users(
  plan?: (ids: readonly string[], request: number) => Plan,
  options?: Partial<WriteBatcherOptions>,
) {
  const clock = new VirtualClock();
  const table = new ScriptedTable(clock, plan);
  const batcher = writeBatcher(table.client, { table: 'users', keys: ['id'], clock, ...options });
  return { clock, table, batcher };
}

const put = (id: string, version = 0): Write => ({ put: { id, version } });

test('puts and deletes share a request', async () => {
  const { clock, table, batcher } = users();
  table.items.set('old', { id: 'old' });
  const answers = outcomes(
    [put('a'), { delete: { id: 'old' } }, put('b')].map((write) => batcher.submit(write)),
  );
  await clock.advance(0);
  expect(await answers).toEqual(['ok', 'ok', 'ok']);
  expect(table.requests).toEqual([['a', 'old', 'b']]);
  expect([...table.items.keys()]).toEqual(['a', 'b']);
});

test('the writes of one item go out in the order in which they were submitted', async () => {
  const { clock, table, batcher } = users();
  const writes = [put('a', 1), put('b', 1), { delete: { id: 'a' } }, put('a', 2), put('b', 2)];
  const answers = outcomes(writes.map((write) => batcher.submit(write)));
  await clock.advance(0);
  expect(await answers).toEqual(writes.map(() => 'ok'));
  expect(table.requests).toEqual([['a', 'b'], ['a', 'b'], ['a']]);
  expect([...table.items.values()]).toEqual([
    { id: 'b', version: 2 },
    { id: 'a', version: 2 },
  ]);
});

test('a later batch waits for an earlier one that has yet to write the same item', async () => {
  // The first write of `a` is unprocessed and waits for its retry when the second one is submitted.
  const { clock, table, batcher } = users((_, request) => ({ unprocessed: request === 0 ? ['a'] : [] }));
  const first = outcomes([batcher.submit(put('a', 1)), batcher.submit(put('b', 1))]);
  await clock.advance(1);
  const second = outcomes([batcher.submit(put('a', 2))]);
  const other = outcomes([batcher.submit(put('c', 1))]);
  await clock.advance(1000);
  expect([...(await first), ...(await second), ...(await other)]).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(table.items.get('a')).toEqual({ id: 'a', version: 2 });
});

test('batches of other items do not wait', async () => {
  const { clock, table, batcher } = users((ids) => ({ unprocessed: ids.filter((id) => id === 'a') }));
  const stuck = outcomes([batcher.submit(put('a'))]);
  await clock.advance(1);
  const quick = outcomes([batcher.submit(put('b'))]);
  await clock.advance(1);
  expect(await quick).toEqual(['ok']);
  await clock.advance(60_000);
  expect(await stuck).toEqual(['OVERLOADED']);
  expect(table.items.has('a')).toBe(false);
});

test('an item that DynamoDB rejects fails alone', async () => {
  const rejects = (ids: readonly string[]) =>
    ids.includes('bad') ? { error: sdkError('ValidationException') } : {};
  const { clock, table, batcher } = users(rejects);
  const ids = ['a', 'b', 'bad', 'c', 'd'];
  const answers = outcomes(ids.map((id) => batcher.submit(put(id))));
  await clock.advance(0);
  expect(await answers).toEqual(['ok', 'ok', 'INVALID_ITEM', 'ok', 'ok']);
  expect([...table.items.keys()].sort()).toEqual(['a', 'b', 'c', 'd']);
});

test('a conversion error of the document client fails its item alone', async () => {
  const rejects = (ids: readonly string[]) => (ids.includes('bad') ? { error: sdkError('Error', {}) } : {});
  const { clock, batcher } = users(rejects);
  const answers = outcomes(['a', 'bad', 'b'].map((id) => batcher.submit(put(id))));
  await clock.advance(0);
  expect(await answers).toEqual(['ok', 'INVALID_ITEM', 'ok']);
});

test('a lost connection is not mistaken for a bad item', async () => {
  const error = sdkError('TimeoutError', { $metadata: { attempts: 3 } });
  const { clock, table, batcher } = users(() => ({ error }));
  const answers = outcomes(Array.from({ length: 25 }, (_, index) => batcher.submit(put(`item ${index}`))));
  await clock.advance(60_000);
  expect(new Set(await answers)).toEqual(new Set(['UNAVAILABLE']));
  expect(table.requests).toHaveLength(1);
});

test('a request of more than 16 MB is split', async () => {
  // 25 items of 396 KB are 9.9 MB; as JSON, each control character takes six bytes.
  const { clock, table, batcher } = users();
  const text = '\u0001'.repeat(396 * 1024);
  const answers = outcomes(
    Array.from({ length: 25 }, (_, index) => batcher.submit({ put: { id: `item ${index}`, text } })),
  );
  await clock.advance(1000);
  expect(new Set(await answers)).toEqual(new Set(['ok']));
  expect(table.requests.map(({ length }) => length)).toEqual([6, 6, 6, 6, 1]);
});

test('an invalid write fails at its caller and is never sent', async () => {
  const { clock, table, batcher } = users();
  const cyclic: Record<string, unknown> = { id: 'cyclic' };
  cyclic.self = cyclic;
  const invalid = [
    {},
    { put: { id: 'a' }, delete: { id: 'a' } },
    { put: {} },
    { put: { id: null } },
    { delete: { id: 'a', version: 1 } },
    { put: { id: 'large', text: 'x'.repeat(400 * 1024) } },
    { put: cyclic },
    null,
  ];
  const answers = outcomes([...invalid, put('a')].map((write) => batcher.submit(write as never)));
  await clock.advance(0);
  expect(await answers).toEqual([...invalid.map(() => 'INVALID_ITEM'), 'ok']);
  expect(table.requests).toEqual([['a']]);
});

test('the message about an item that is too large names the item, its size and the limit', async () => {
  const { clock, batcher } = users();
  const large = batcher
    .submit({ put: { id: 'ada', text: 'x'.repeat(500_000) } })
    .catch((error: Error) => error);
  await clock.advance(0);
  expect(await large).toMatchObject({
    message: 'the item ["Sada"] has 500009 bytes; DynamoDB takes up to 409600.',
  });
});

test('close writes what was accepted, retries included', async () => {
  const { clock, table, batcher } = users((_, request) => ({ unprocessed: request < 3 ? ['a'] : [] }));
  const answers = outcomes([batcher.submit(put('a')), batcher.submit(put('b'))]);
  const closed = batcher.close();
  await clock.advance(10_000);
  await closed;
  expect(await answers).toEqual(['ok', 'ok']);
  expect([...table.items.keys()].sort()).toEqual(['a', 'b']);
});

test('a table without sort key and one with both take numbers and binary as keys', async () => {
  const clock = new VirtualClock();
  const sent: number[] = [];
  const client = {
    send: async ({ input }: { input: { RequestItems: { events: unknown[] } } }) => {
      sent.push(input.RequestItems.events.length);
      return {};
    },
  };
  const batcher = writeBatcher(client as never, { table: 'events', keys: ['at', 'by'], clock });
  const by = new Uint8Array([1, 2]);
  const same = [
    { at: 100, by },
    { at: 100n, by: Buffer.from(by) },
    { at: 1e2, by: by.buffer },
    { at: 101, by },
  ];
  const answers = outcomes(same.map((key) => batcher.submit({ put: key })));
  await clock.advance(0);
  expect(await answers).toEqual(['ok', 'ok', 'ok', 'ok']);
  expect(sent).toEqual([2, 1, 1]); // the first three are one key
});

test.each([
  [{ maxBatchSize: 26 }, /maxBatchSize: expected 1 to 25, the limit of BatchWriteItem, got 26/],
  [{ table: 'a b' }, /table/],
])('the option %o is rejected', (options, message) => {
  expect(() => users(undefined, options)).toThrow(message);
});

test('whatever fails on the way, the table ends as if the writes were made one by one', async () => {
  const submission = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'bad'),
    isDelete: fc.boolean(),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 40),
  });
  const request = fc.record({
    unprocessed: fc.subarray(['a', 'b', 'c']),
    isThrottled: fc.boolean(),
    delayMs: fc.integer({ min: 0, max: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(submission, { maxLength: 40 }),
      fc.array(request, { maxLength: 30 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 6 }),
      async (submissions, plans, concurrency, maxBatchSize) => {
        const plan = (ids: readonly string[], index: number): Plan => {
          const { unprocessed = [], isThrottled = false, delayMs = 0 } = plans[index] ?? {};
          if (ids.includes('bad')) return { error: sdkError('ValidationException'), delayMs };
          if (isThrottled) return { error: sdkError('ThrottlingException'), delayMs };
          return { unprocessed, delayMs };
        };
        const policy = window({ maxWaitMs: 2 });
        const { clock, table, batcher } = users(plan, { concurrency, maxBatchSize, policy });
        const expected = new Map<string, number>();
        const answers: Promise<unknown[]>[] = [];
        for (const [version, { id, isDelete, pauseMs }] of submissions.entries()) {
          answers.push(outcomes([batcher.submit(isDelete ? { delete: { id } } : put(id, version))]));
          if (id !== 'bad' && isDelete) expected.delete(id);
          else if (id !== 'bad') expected.set(id, version);
          if (pauseMs > 0) await clock.advance(pauseMs);
        }
        await clock.advance(600_000);
        expect((await Promise.all(answers)).flat()).toEqual(
          submissions.map(({ id }) => (id === 'bad' ? 'INVALID_ITEM' : 'ok')),
        );
        expect(new Map([...table.items].map(([id, { version }]) => [id, version]))).toEqual(expected);
        expect(clock.pendingTimers).toBe(0);
      },
    ),
    { numRuns: 60 },
  );
});
