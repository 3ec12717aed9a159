/** The rule of a method, and the name of its batched method. */
import { describe, expect, it } from 'vitest';
import { batchedPathOf, methodSettings, ruleOf } from '../src/options/method-options.js';

const rule = (method: string, batched?: string) => methodSettings('rule', { method, batched });

describe('a rule', () => {
  it('for one method matches only that method', () => {
    const rules = [rule('/a.B/Compute')];
    expect(ruleOf(rules, '/a.B/Compute')).toBeDefined();
    for (const path of [
      '/a.B/compute',
      '/a.B/Compute/',
      '/a.B/Compute2',
      '/a.C/Compute',
      'a.B/Compute',
      '',
    ]) {
      expect(ruleOf(rules, path)).toBeUndefined();
    }
  });

  it('for any service matches a complete service name', () => {
    const rules = [rule('*/Compute')];
    for (const path of ['/a.B/Compute', '/x/Compute']) expect(ruleOf(rules, path)).toBeDefined();
    for (const path of [
      '/Compute',
      '/a/b/Compute',
      '/a.B/MyCompute',
      'a.B/Compute',
      '/a.B/ComputeMore',
      '//Compute',
    ]) {
      expect(ruleOf(rules, path)).toBeUndefined();
    }
  });

  it('that is listed first takes precedence', () => {
    const [special, general] = [rule('/a.B/Compute'), rule('*/Compute')];
    const rules = [special, general];
    expect(ruleOf(rules, '/a.B/Compute')).toBe(special);
    expect(ruleOf(rules, '/a.C/Compute')).toBe(general);
  });
});

it('the rule names the batched method, in the same service or another', () => {
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute'))).toBe('/a.B/BatchedCompute');
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute', 'ComputeMany'))).toBe('/a.B/ComputeMany');
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute', '/c.D/All'))).toBe('/c.D/All');
});
