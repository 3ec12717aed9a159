import { expect, test } from 'vitest';
import { didYouMean, nearestWord } from '../src/errors/describe.js';

const known = [
  'batching',
  'max_batch_size',
  'target_latency_ms',
  'timeout',
  'cpu',
  'port',
  'at_ms',
  'maxWaitMs',
];

test.each([
  ['max_batchsize', 'max_batch_size'],
  ['maxBatchSize', 'max_batch_size'],
  ['max-batch-size', 'max_batch_size'],
  ['MAX_BATCH_SIZE', 'max_batch_size'],
  ['batchign', 'batching'],
  ['tiemout', 'timeout'],
  ['prot', 'port'],
  ['cp', 'cpu'],
  ['at', 'at_ms'],
  ['max_wait', 'maxWaitMs'],
])('%s is similar to %s', (word, meant) => expect(nearestWord(word, known)).toBe(meant));

test.each(['', 'x', 'iris', 'hello_world', '__proto__', 'ab', 'max'])('%s has no similar word', (word) =>
  expect(nearestWord(word, known)).toBe(undefined),
);

test('a similar word is preferred to one with a unit appended', () => {
  expect(nearestWord('item', ['item_ms', 'items'])).toBe('items');
});

test('a long word is compared in bounded time', () => {
  expect(didYouMean('x'.repeat(1e6), known)).toBe('');
});

test('the hint is a sentence', () => {
  expect(didYouMean('prot', known)).toBe(' Did you mean port?');
});
