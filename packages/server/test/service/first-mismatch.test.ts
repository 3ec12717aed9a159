import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { firstMismatch } from '../../src/service/first-mismatch.js';

const flower = z.object({ length: z.number(), name: z.string().max(3).optional() });

describe('the first mismatch', () => {
  test.each([
    ['an array', z.array(z.number()), [1, 2, 'x', 'y'], 'body[2]: expected number, got "x"'],
    ['no array', z.array(z.number()), 7, 'body: expected array, got 7'],
    ['an object', z.array(flower), [{ length: 1 }, {}], 'body[1].length: expected number, got nothing'],
    [
      'an optional part',
      z.array(flower),
      [{ length: 1, name: 'long' }],
      'body[0].name: expected string to have <=3 characters, got "long"',
    ],
    ['a record', z.record(z.string(), z.int()), { a: 1, b: 1.5 }, 'body.b: expected int, got 1.5'],
    ['a tuple', z.tuple([z.number(), z.string()]), [1, 2], 'body[1]: expected string, got 2'],
    ['a nullable', z.array(z.nullable(z.string())), [null, 1], 'body[1]: expected string, got 1'],
    [
      'a union',
      z.array(z.union([z.string(), flower])),
      ['a', 1],
      'body[1]: matches none of the alternatives, got 1',
    ],
    [
      'what is transformed',
      z.array(z.string().transform(Number)),
      ['1', 1],
      'body[1]: expected string, got 1',
    ],
    ['a literal', z.object({ kind: z.literal('a') }), { kind: 'b' }, 'body.kind: expected "a", got "b"'],
  ])('of %s is told with its place', (_, schema, value, told) => {
    const found = firstMismatch(schema, value, 'body');
    expect(`${found?.where}: ${found?.message}`).toBe(told);
  });

  test.each([
    ['what catches its mistakes', z.array(z.number().catch(0)), ['x']],
    ['what has a default', z.array(z.number().default(0)), [undefined]],
    ['what is coerced', z.array(z.coerce.number()), ['1']],
    ['what is prepared', z.array(z.preprocess(Number, z.number())), ['1']],
  ])('of %s is none', (_, schema, value) => {
    expect(firstMismatch(schema, value, 'body')).toBeUndefined();
  });

  const schemas = [
    z.array(flower),
    z.record(z.string(), z.union([z.number(), z.array(z.string()), flower])),
    z.union([z.array(z.union([z.number(), z.null()])), z.object({ a: z.array(z.boolean()) })]),
    z.strictObject({ a: z.optional(z.array(z.number())), b: z.nullable(z.string()) }),
    z.tuple([z.number(), z.string()]).rest(z.boolean()),
    z.looseObject({ a: z.number().default(1), b: z.array(z.unknown()) }),
  ];

  test('is never one where zod finds none', () => {
    const key = fc.constantFrom('a', 'b', 'length', 'name');
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.constantFrom(null, 1, 1.5, 'x', true, ''), fc.integer()),
      tree: fc.oneof(
        { maxDepth: 3 },
        tie('leaf'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.constantFrom(...schemas), tree, (schema, value) => {
        if (z.safeParse(schema, value).success) {
          expect(firstMismatch(schema, value, 'body')).toBeUndefined();
        }
      }),
      { numRuns: 2000 },
    );
  });
});
