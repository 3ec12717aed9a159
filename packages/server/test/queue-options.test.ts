import { expect, test } from 'vitest';
import { withPeerTenant } from '../src/queue-options.js';

const peer = () => '127.0.0.1:50000';
const grouped = { isGrouped: true };

test('the connection is the tenant of requests to a runner that forms groups', () => {
  expect(withPeerTenant(undefined, grouped, peer)).toEqual({ tenant: peer() });
  expect(withPeerTenant({ timeoutMs: 5 }, grouped, peer)).toEqual({ timeoutMs: 5, tenant: peer() });
});

test.each<[string, Parameters<typeof withPeerTenant>]>([
  ['the runner forms no groups', [{ timeoutMs: 5 }, { isGrouped: false }, peer]],
  ['it is not known whether it does', [{ timeoutMs: 5 }, {}, peer]],
  ['headers are trusted', [{ timeoutMs: 5 }, grouped, peer, ['priority']]],
  ['a priority is chosen', [{ priority: 1 }, grouped, peer]],
  ['a tenant is chosen', [{ tenant: 'acme' }, grouped, peer]],
])('it is not where %s', (_why, args) => {
  expect(withPeerTenant(...args)).toBe(args[0]);
});
