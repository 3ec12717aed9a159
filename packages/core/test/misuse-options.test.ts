/** Misuse of options: every message says what was expected and what was given. */
import {
  adaptive,
  Batcher,
  type BatcherOptions,
  BatchwiseError,
  batched,
  VirtualClock,
  window,
} from 'batchwise';
import { describe, expect, test } from 'vitest';
import { expectRest } from './support/books.js';
import { outcomeOf } from './support/outcome.js';
import { RecordingSink } from './support/recording-sink.js';

const echo = (items: unknown[]) => items;

/** The BatchwiseError that a call throws. */
function thrownBy(call: () => unknown): BatchwiseError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(BatchwiseError);
    return error as BatchwiseError;
  }
  throw new Error('It did not throw.');
}

async function rejectionOf(promise: Promise<unknown>): Promise<BatchwiseError> {
  const error: unknown = await promise.then(
    () => new Error('It did not reject.'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BatchwiseError);
  return error as BatchwiseError;
}

const ms = 'milliseconds (a number, 0 or more, or Infinity for no limit)';
const msAboveZero = 'milliseconds (a number above 0, or Infinity for no limit)';
const count = 'a whole number from 1 up, or Infinity (or -1) for unlimited';

const wrongOptions: [option: string, expected: string, came: string, wrong: unknown][] = [
  ['maxBatchSize', count, '0', 0],
  ['maxBatchSize', count, '-2', -2],
  ['maxBatchSize', count, '1.5', 1.5],
  ['maxBatchSize', count, 'NaN', NaN],
  ['maxBatchSize', count, 'the string "64"', '64'],
  ['maxBatchSize', count, 'null', null],
  ['maxBatchSize', count, '8n (a bigint)', 8n],
  ['maxBatchSize', count, '-Infinity', -Infinity],
  ['maxBatchSize', count, '1152921504606847000', 2 ** 60],
  ['maxWaitMs', ms, '-1', -1],
  ['maxWaitMs', ms, 'NaN', NaN],
  ['maxWaitMs', ms, 'the string "10ms"', '10ms'],
  ['batchSizes', 'a list of rising numbers', '64', 64],
  ['targetLatencyMs', msAboveZero, '0', 0],
  ['targetLatencyMs', msAboveZero, 'an object', {}],
  ['admission', 'true or false', '0', 0],
  ['admission', 'true or false', 'the string "strict"', 'strict'],
  ['timeoutMs', msAboveZero, '0', 0],
  ['timeoutMs', msAboveZero, '-5', -5],
  ['timeoutMs', msAboveZero, 'an object (Date)', new Date(0)],
  ['maxQueueSize', count, '0', 0],
  ['maxQueueSize', count, 'true', true],
  ['concurrency', 'a whole number from 1 up, or Infinity', '-1', -1],
  ['concurrency', 'a whole number from 1 up, or Infinity', '0.5', 0.5],
  ['handlerTimeoutMs', msAboveZero, '0', 0],
  ['handlerTimeoutMs', msAboveZero, 'a symbol', Symbol('no')],
  ['costOf', 'a function', 'the string "rows"', 'rows'],
  ['groupOf', 'a function', 'null', null],
  ['dedupeBy', 'a function', 'an object', {}],
  ['isolate', 'true or false', '1', 1],
  ['isolate', 'true or false', 'the string "false"', 'false'],
  ['policy', 'an object with decide()', 'the string "adaptive"', 'adaptive'],
  ['policy', 'an object with decide()', 'a function', window],
  ['name', 'a string that is not empty', 'the string ""', ''],
  ['name', 'a string that is not empty', '7', 7],
  ['name', 'a string that is not empty', 'an array of 1', ['a']],
  ['curve', 'a list of { cost, durationMs }', 'the string "h200.json"', 'h200.json'],
  ['curve', 'a list of { cost, durationMs }', 'an object', { 1: 5.6 }],
  ['priorityAgeMs', 'a number above 0', '0', 0],
  ['priorityAgeMs', 'a number above 0', 'Infinity', Infinity],
  ['clock', 'an object with now(), setTimer(), clearTimer(), defer()', 'a function', Date],
];

test.each(wrongOptions)('%s: expected %s, got %s', (option, expected, came, wrong) => {
  const error = thrownBy(() => new Batcher(echo, { [option]: wrong } as BatcherOptions<unknown>));
  expect(error.code).toBe('INVALID_OPTION');
  expect(error.message).toBe(`${option}: expected ${expected}, got ${came}.`);
});

test('a policy or a clock that lacks a method: the message names the method', () => {
  const policy = { name: 'empty', decide: 'later' } as never;
  expect(thrownBy(() => new Batcher(echo, { policy })).message).toBe(
    'policy.decide: expected a function, got the string "later".',
  );
  const clock = { now: () => 0, setTimer: () => 0, defer: () => {} } as never;
  expect(thrownBy(() => new Batcher(echo, { clock })).message).toBe(
    'clock.clearTimer: expected a function, got undefined.',
  );
});

test.each([
  ['null', null],
  ['the string "handler"', 'handler'],
  ['undefined', undefined],
  ['an object', { process_batch: echo }],
  ['an array of 1', [echo]],
])('a handler that is %s', (came, handler) => {
  const { code, message } = thrownBy(() => new Batcher(handler as never));
  expect(code).toBe('INVALID_OPTION');
  expect(message).toContain(
    'expected a function (items, context) => results, or an object with processBatch()',
  );
  expect(message).toContain(`got ${came}`);
  expect(thrownBy(() => batched(handler as never)).message).toBe(message);
});

test.each([
  ['null', null],
  ['64', 64],
  ['an array of 0', []],
  ['a function', echo],
])('options that are %s', (came, options) => {
  expect(thrownBy(() => new Batcher(echo, options as never)).message).toBe(
    `new Batcher(handler, options): expected an object, got ${came}.`,
  );
  expect(thrownBy(() => new Batcher(echo).configure(options as never)).message).toBe(
    `configure(options): expected an object, got ${came}.`,
  );
});

describe('unknown options', () => {
  test.each([
    ['maxBatchsize', 'Did you mean maxBatchSize?'],
    ['max_batch_size', 'Did you mean maxBatchSize?'],
    ['maxWait', 'Did you mean maxWaitMs?'],
    ['concurency', 'Did you mean concurrency?'],
    ['dedupe', 'Did you mean dedupeBy?'],
    ['batchSize', 'Did you mean batchSizes?'],
    ['admision', 'Did you mean admission?'],
  ])('%s is rejected with a suggestion', (key, suggestion) => {
    for (const where of ['new Batcher(handler, options)', 'configure(options)']) {
      const options = { [key]: 1 } as never;
      const call = where.startsWith('new')
        ? () => new Batcher(echo, options)
        : () => new Batcher(echo).configure(options);
      const { code, message } = thrownBy(call);
      expect(code).toBe('INVALID_OPTION');
      expect(message).toContain(`${where}: unknown option "${key}". ${suggestion} Known are maxBatchSize, `);
    }
  });

  test('an option without a similar name is rejected without a suggestion, even if undefined', () => {
    const { message } = thrownBy(() => new Batcher(echo, { colour: undefined } as never));
    expect(message).toContain('unknown option "colour". Known are');
  });

  test('__proto__, constructor and toString are unknown options', () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const options = JSON.parse(`{"${key}": {"maxBatchSize": 1}}`) as never;
      expect(thrownBy(() => new Batcher(echo, options)).message).toContain(`unknown option "${key}"`);
      expect(thrownBy(() => new Batcher(echo).configure(options)).message).toContain(
        `unknown option "${key}"`,
      );
    }
  });

  test('of a call reject only that call', async () => {
    const batcher = new Batcher(echo, { clock: new VirtualClock() });
    for (const key of ['__proto__', 'constructor', 'timeout']) {
      const error = await rejectionOf(batcher.submit(1, JSON.parse(`{"${key}": 5}`) as never));
      expect(error.code).toBe('INVALID_OPTION');
      expect(error.message).toContain(`options of a call: unknown option "${key}"`);
    }
    expect((await rejectionOf(batcher.submit(1, { timeout: 5 } as never))).message).toContain(
      'Did you mean timeoutMs?',
    );
    expect((await rejectionOf(batcher.submit(1, { deadline: undefined } as never))).message).toContain(
      '"deadline"',
    );
    expect(batcher.stats()).toMatchObject({ submitted: 5, refused: 5, refusals: { INVALID_OPTION: 5 } });
  });

  test('of close() are rejected instead of waiting forever', async () => {
    const error = await rejectionOf(new Batcher(echo).close({ timeout: 5 } as never));
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.message).toContain('Did you mean timeoutMs?');
  });

  test('of window() and adaptive() are rejected', () => {
    expect(thrownBy(() => window({ maxWaitMs: 5, maxBatchSize: 3 } as never)).message).toContain(
      '"maxBatchSize"',
    );
    expect(thrownBy(() => adaptive({ preferred: 'latency' } as never)).message).toContain(
      'Did you mean prefer?',
    );
  });
});

const wrongCalls: [option: string, expected: string, came: string, wrong: unknown][] = [
  ['timeoutMs', ms, '-1', -1],
  ['timeoutMs', ms, 'NaN', NaN],
  ['timeoutMs', ms, 'the string "5s"', '5s'],
  ['timeoutMs', ms, 'null', null],
  ['priority', 'a whole number from -100 to 100', '101', 101],
  ['priority', 'a whole number from -100 to 100', '0.5', 0.5],
  ['priority', 'a whole number from -100 to 100', 'the string "high"', 'high'],
  ['priority', 'a whole number from -100 to 100', 'NaN', NaN],
  ['tenant', 'a string that is not empty', 'the string ""', ''],
  ['tenant', 'a string that is not empty', '42', 42],
  ['weight', 'a number from 0.001 to 1000000', '0', 0],
  ['weight', 'a number from 0.001 to 1000000', '-1', -1],
  ['weight', 'a number from 0.001 to 1000000', 'Infinity', Infinity],
  ['signal', 'an AbortSignal', 'an object (AbortController)', new AbortController()],
  ['signal', 'an AbortSignal', 'true', true],
];

test.each(wrongCalls)('a call with %s: expected %s, got %s', async (option, expected, came, wrong) => {
  const clock = new VirtualClock();
  const batcher = new Batcher(echo, { clock });
  const neighbour = outcomeOf(batcher.submit('neighbour'));
  const options = { [option]: wrong } as never;
  const sink = new RecordingSink<unknown>();
  batcher.enqueue(1, sink, options);
  for (const error of [
    await rejectionOf(batcher.submit(1, options)),
    await rejectionOf(batcher.submitMany([1, 2], options)),
    sink.errors[0] as BatchwiseError,
  ]) {
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.message).toBe(`${option}: expected ${expected}, got ${came}.`);
  }
  await clock.advance(0);
  expect(neighbour.value).toBe('neighbour');
  expectRest(batcher);
});

test.each([
  ['null', null],
  ['0', 0],
  ['the string "fast"', 'fast'],
  ['a function', echo],
  ['an array of 0', []],
])('call options that are %s', async (came, options) => {
  const error = await rejectionOf(new Batcher(echo).submit(1, options as never));
  expect(error.code).toBe('INVALID_OPTION');
  expect(error.message).toBe(`options of a call: expected an object, got ${came}.`);
});

test('a signal in place of the options is rejected', async () => {
  const { signal } = new AbortController();
  const error = await rejectionOf(new Batcher(echo).submit(1, signal as never));
  expect(error.code).toBe('INVALID_OPTION');
});

test('a batched function passed to map: the index in place of the options is rejected', async () => {
  const double = batched((items: number[]) => items.map((item) => 2 * item));
  const error = await rejectionOf(Promise.all([1, 2].map(double as never)));
  expect(error.message).toBe('options of a call: expected an object, got 0.');
});

test.each([
  ['the string "abc"', 'abc'],
  ['an object (Set)', new Set([1])],
  ['undefined', undefined],
])('submitMany of %s', async (came, items) => {
  const error = await rejectionOf(new Batcher(echo).submitMany(items as never));
  expect(error.code).toBe('INVALID_ITEM');
  expect(error.message).toBe(`submitMany(items): expected an array, got ${came}.`);
});

test.each([
  ['undefined', 'sink: expected an object with resolve(), reject(), got undefined.', undefined],
  ['a function', 'sink: expected an object with resolve(), reject(), got a function.', () => {}],
  ['half a sink', 'sink.reject: expected a function, got undefined.', { resolve: () => {} }],
])('a sink that is %s: enqueue() throws, and no item is counted', (_, message, sink) => {
  const batcher = new Batcher(echo);
  const error = thrownBy(() => batcher.enqueue(1, sink as never));
  expect([error.code, error.message]).toEqual(['INVALID_OPTION', message]);
  expect(batcher.stats().submitted).toBe(0);
});

test.each([-1, NaN, null, '1s'])(
  'close({ timeoutMs: %j }) is rejected, and the batcher stays open',
  async (timeoutMs) => {
    const batcher = new Batcher(echo);
    const error = await rejectionOf(batcher.close({ timeoutMs } as never));
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.message).toContain('close({ timeoutMs }): expected milliseconds');
    expect(batcher.stats().state).toBe('open');
    expect((await rejectionOf(batcher.close(null as never))).message).toContain(
      'close(options): expected an object',
    );
  },
);

test.each([undefined, null, 5, 'window'])('window(%j) throws', (options) => {
  const error = thrownBy(() => window(options as never));
  expect(error.code).toBe('INVALID_OPTION');
  expect(error.message).toMatch(/^window\(.*\): expected .*, got .*\.$/);
});

test.each([{}, { maxWaitMs: NaN }, { maxWaitMs: '5' }, { maxWaitMs: -1 }, { maxWaitMs: null }])(
  'window(%j) throws with the name of the invalid option',
  (options) => {
    const error = thrownBy(() => window(options as never));
    expect(error.code).toBe('INVALID_OPTION');
    expect(error.message).toContain('window({ maxWaitMs }): expected milliseconds');
  },
);
