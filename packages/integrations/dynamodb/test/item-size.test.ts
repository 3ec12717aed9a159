/** Sizes are compared with those of dynalite and of the SDK's own JSON, which both follow DynamoDB's rules. */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { itemSize } from '../src/item-size.js';
import type { Attributes } from '../src/table-options.js';

const require = createRequire(import.meta.url);
const { itemSize: storedSize } = require('dynalite/db') as { itemSize(item: unknown): number };
// What the document client uses; found from there, because it is a dependency of the SDK, not of this package.
const { marshall } = createRequire(require.resolve('@aws-sdk/lib-dynamodb'))('@aws-sdk/util-dynamodb') as {
  marshall(item: Attributes): unknown;
};

const name = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 5 });

function items(text: fc.Arbitrary<string>): fc.Arbitrary<Attributes> {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.boolean(),
      fc.constant(null),
      fc.uint8Array(),
      fc.uniqueArray(text, { minLength: 1, maxLength: 4 }).map((texts) => new Set(texts)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  return fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true }) as fc.Arbitrary<Attributes>;
}

test('an item has the size that DynamoDB counts', () => {
  // ASCII only: dynalite counts characters, DynamoDB bytes.
  fc.assert(
    fc.property(items(fc.string({ unit: 'binary-ascii' })), (item) => {
      expect(itemSize(item).storedBytes).toBe(storedSize(marshall(item)));
    }),
  );
});

test('characters are counted in bytes', () => {
  expect(itemSize({ é: '€😀' }).storedBytes).toBe(2 + 3 + 4);
});

test('the JSON of an item is never longer than estimated', () => {
  fc.assert(
    fc.property(items(fc.string({ unit: 'binary' })), (item) => {
      expect(itemSize(item).wireBytes).toBeGreaterThanOrEqual(wireSize(marshall(item)));
    }),
  );
});

test('numbers are counted as DynamoDB does, give or take two bytes', () => {
  const number = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, min: -1e15, max: 1e15 }));
  fc.assert(
    fc.property(fc.array(number), (numbers) => {
      const sent = marshall({ numbers });
      const { storedBytes, wireBytes } = itemSize({ numbers });
      expect(Math.abs(storedBytes - storedSize(sent))).toBeLessThanOrEqual(2 * numbers.length);
      expect(wireBytes).toBeGreaterThanOrEqual(wireSize(sent));
    }),
  );
});

function wireSize(sent: unknown): number {
  const replacer = (_: string, part: unknown) =>
    part instanceof Uint8Array ? Buffer.from(part).toString('base64') : part;
  return Buffer.byteLength(JSON.stringify(sent, replacer));
}
