import { expect, test } from 'vitest';
import { checkJsonSize, type JsonLimits } from '../../src/open-inference/json-size.js';

const NONE = Number.POSITIVE_INFINITY;
const UNLIMITED: JsonLimits = { values: NONE, containers: NONE, keys: NONE, depth: NONE };

function refusal(text: string, limits: Partial<JsonLimits>): string | undefined {
  try {
    checkJsonSize(Buffer.from(text), { ...UNLIMITED, ...limits });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ['values', { values: 5 }, '[1,[2],"a"]', '[1,[2],"a",4]', '5 values'],
  ['arrays and objects', { containers: 3 }, '[{},[]]', '[{},[],[]]', '3 arrays and objects'],
  ['keys', { keys: 2 }, '{"a":{"b":1}}', '{"a":{"a":1,"a":2}}', '2 keys'],
  ['levels', { depth: 2 }, '[[],[],{}]', '[[{}]]', '2 levels'],
])('limits %s: the maximum is accepted, one more is not', (_, limits, fits, exceeds, named) => {
  expect(refusal(fits, limits)).toBeUndefined();
  expect(refusal(exceeds, limits)).toBe(`body: expected JSON of at most ${named}, got more.`);
});

test('counts nothing inside strings, however they are escaped', () => {
  const none = { values: 3, containers: 1, keys: 1, depth: 1 };
  expect(refusal('{"[{,:\\"[[,,::":"\\\\"}', none)).toBeUndefined();
  expect(refusal('{"a":"\\\\","b":1}', none)).toBe('body: expected JSON of at most 1 keys, got more.');
});

test('counts at least as much as a parser would read from truncated text', () => {
  expect(refusal('[1,1,1,1,1,1', { values: 5 })).toContain('5 values');
  expect(refusal('"'.repeat(1001), { values: 5 })).toBeUndefined();
  expect(refusal('"\\', UNLIMITED)).toBeUndefined();
});
