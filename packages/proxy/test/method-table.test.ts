/** Which rule a method falls under, and what its batched form is called. */
import { describe, expect, it } from 'vitest';
import { methodSettings } from '../src/method-options.js';
import { batchedPathOf, MethodTable } from '../src/method-table.js';

const rule = (method: string, batched?: string) => methodSettings('rule', { method, batched });

describe('a rule', () => {
  it('for one method is for that method only', () => {
    const table = new MethodTable([rule('/a.B/Compute')]);
    expect(table.ruleOf('/a.B/Compute')).toBeDefined();
    for (const path of [
      '/a.B/compute',
      '/a.B/Compute/',
      '/a.B/Compute2',
      '/a.C/Compute',
      'a.B/Compute',
      '',
    ]) {
      expect(table.ruleOf(path)).toBeUndefined();
    }
  });

  it('for any service is for a service, not for a part of a path', () => {
    const table = new MethodTable([rule('*/Compute')]);
    for (const path of ['/a.B/Compute', '/x/Compute']) expect(table.ruleOf(path)).toBeDefined();
    for (const path of [
      '/Compute',
      '/a/b/Compute',
      '/a.B/MyCompute',
      'a.B/Compute',
      '/a.B/ComputeMore',
      '//Compute',
    ]) {
      expect(table.ruleOf(path)).toBeUndefined();
    }
  });

  it('that comes first counts', () => {
    const [special, general] = [rule('/a.B/Compute'), rule('*/Compute')];
    const table = new MethodTable([special, general]);
    expect(table.ruleOf('/a.B/Compute')).toBe(special);
    expect(table.ruleOf('/a.C/Compute')).toBe(general);
  });
});

it('the batched form has the name that the rule gives, in the same service or another', () => {
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute'))).toBe('/a.B/BatchedCompute');
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute', 'ComputeMany'))).toBe('/a.B/ComputeMany');
  expect(batchedPathOf('/a.B/Compute', rule('*/Compute', '/c.D/All'))).toBe('/c.D/All');
});
