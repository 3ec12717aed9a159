/** The policy of a method: another policy, except for throttled tenants. */
import { type Policy, ServiceCurve } from 'batchwise';
import { expect, it } from 'vitest';
import { Tenants } from '../src/batching/tenants.js';
import { ThrottlingPolicy } from '../src/batching/throttling-policy.js';

// `prepare` and `nextGroup` were not passed on: the proxy had no dispatch plans and no group order.
it('passes every call on to the inner policy', () => {
  const calls: string[] = [];
  const inner: Required<Policy> = {
    name: 'inner',
    decide: () => ({ action: 'wait', until: 1 }),
    nextGroup: () => calls.push('nextGroup'),
    observeArrivals: () => calls.push('observeArrivals'),
    observeBatch: () => calls.push('observeBatch'),
    prepare: () => calls.push('prepare'),
  };
  const policy = new ThrottlingPolicy(inner, new Tenants());
  const batch = { size: 1, cost: 1, startedAt: 0, durationMs: 1, callers: 1 };
  policy.prepare(0);
  policy.nextGroup?.([{ cost: 1, deadline: 1, curve: new ServiceCurve() }], 1, 0);
  policy.observeArrivals(1, 0);
  policy.observeBatch(batch, 1);
  expect(calls).toEqual(['prepare', 'nextGroup', 'observeArrivals', 'observeBatch']);
});
