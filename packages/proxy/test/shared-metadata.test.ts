/** What goes out on the stream of a batch. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sharedMetadata } from '../src/shared-metadata.js';

it('is exactly what all have alike', () => {
  const value = fc.constantFrom('1', '2', ['1', '2'], ['2', '1']);
  const headers = fc.dictionary(fc.constantFrom('x-a', 'x-b', 'x-c-bin', 'authorization'), value, {
    maxKeys: 4,
    noNullPrototype: true,
  });
  const property = fc.property(fc.array(headers, { minLength: 1, maxLength: 5 }), (all) => {
    const shared = sharedMetadata(all.map((one) => ({ headers: one })));
    const keys = new Set(all.flatMap((one) => Object.keys(one)));
    for (const key of keys) {
      const values = new Set(all.map((one) => JSON.stringify(one[key])));
      if (values.size === 1) expect(shared[key]).toEqual(all[0]?.[key]);
      else expect(shared).not.toHaveProperty(key);
    }
    expect(Object.keys(shared).every((key) => keys.has(key))).toBe(true);
  });
  fc.assert(property, { numRuns: 500 });
});

it('leaves out what is the protocol’s', () => {
  const headers = { ':path': '/a/b', 'grpc-timeout': '1S', 'user-agent': 'x', te: 'trailers', 'x-a': '1' };
  expect(sharedMetadata([{ headers }, { headers: { ...headers } }])).toEqual({ 'x-a': '1' });
});

it('changes nobody’s headers', () => {
  const first = { 'x-a': '1', 'x-b': '1' };
  sharedMetadata([{ headers: first }, { headers: { 'x-a': '2' } }]);
  expect(first).toEqual({ 'x-a': '1', 'x-b': '1' });
});
