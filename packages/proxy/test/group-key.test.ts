/** The group key: calls with different keys do not share a batch. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptedEncodings, bucketOf, groupKeyOf } from '../src/batching/group-key.js';
import { methodSettings } from '../src/options/method-options.js';

const settings = (groupBy?: object) => methodSettings('method', { method: '*/Compute', groupBy });

describe('the group key', () => {
  it('is equal exactly when all relevant properties are equal', () => {
    const one = fc.constantFrom<string | string[]>(
      '',
      'a',
      'b',
      'a=',
      '=',
      'a,b',
      'a, b',
      ['a', 'b'],
      ['b', 'a'],
    );
    const value = fc.option(one as fc.Arbitrary<string>, { nil: undefined });
    const headers = fc.record({
      'grpc-encoding': fc.constantFrom(undefined, 'gzip', 'deflate'),
      'grpc-accept-encoding': fc.constantFrom(undefined, 'gzip', 'identity,gzip'),
      'content-type': fc.constantFrom('application/grpc', 'application/grpc+json'),
      authorization: value,
      'x-tenant': value,
      'x-other': value,
    });
    const rule = settings({ metadata: ['authorization', 'X-Tenant'], messageBytes: [10, 100] });
    const matters = [
      'grpc-encoding',
      'grpc-accept-encoding',
      'content-type',
      'authorization',
      'x-tenant',
    ] as const;
    const changed = fc.subarray([...matters, 'x-other' as const], { maxLength: 2 });
    const property = fc.property(
      headers,
      headers,
      changed,
      fc.nat(200),
      fc.nat(200),
      (a, other, keys, aBytes, bBytes) => {
        const b = { ...a, ...Object.fromEntries(keys.map((key) => [key, other[key]])) };
        const isSame =
          matters.every((key) => JSON.stringify(a[key]) === JSON.stringify(b[key])) &&
          bucketOf(aBytes, [10, 100]) === bucketOf(bBytes, [10, 100]);
        expect(groupKeyOf(a, aBytes, rule) === groupKeyOf(b, bBytes, rule)).toBe(isSame);
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });

  it('includes the authorization by default', () => {
    const key = (authorization: string, groupBy?: object) =>
      groupKeyOf({ authorization }, 0, settings(groupBy));
    expect(key('a')).not.toBe(key('b'));
    expect(key('a', { metadata: [] })).toBe(key('b', { metadata: [] }));
  });

  it('uses identity if there is no encoding', () => {
    expect(groupKeyOf({ 'grpc-encoding': 'identity' }, 0, settings())).toBe(groupKeyOf({}, 0, settings()));
  });
});

it('equal sets of encodings are equal, however they are written', () => {
  const accepted = (text: string) => acceptedEncodings({ 'grpc-accept-encoding': text });
  expect(accepted('identity, deflate, gzip')).toBe(accepted('gzip,identity,deflate'));
  expect(accepted('gzip,gzip, ,identity')).toBe('gzip,identity');
  expect(accepted('gzip')).not.toBe(accepted('gzip,identity'));
});

it('a length bucket includes its upper bound', () => {
  expect([0, 10, 11, 100, 101, 1e9].map((bytes) => bucketOf(bytes, [10, 100]))).toEqual([0, 0, 1, 1, 2, 2]);
  const property = fc.property(
    fc.uniqueArray(fc.integer({ min: 1, max: 1000 })).map((bounds) => bounds.sort((a, b) => a - b)),
    fc.nat(1100),
    (bounds, bytes) => {
      const bucket = bucketOf(bytes, bounds);
      expect(bytes).toBeLessThanOrEqual(bounds[bucket] ?? Number.POSITIVE_INFINITY);
      expect(bytes).toBeGreaterThan(bounds[bucket - 1] ?? -1);
    },
  );
  fc.assert(property);
});
