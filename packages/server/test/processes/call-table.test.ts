import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallTable } from '../../src/processes/call-table.js';

test('a table of calls does what a map does, whatever comes and goes', () => {
  const steps = fc.array(fc.oneof(fc.constant('add' as const), fc.nat({ max: 40 })), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (plan) => {
      const table = new CallTable<string>();
      const peer = new CallTable<string>(); // the other side, which is told the ids
      const map = new Map<number, string>();
      const everUsed: number[] = [];
      for (const step of plan) {
        if (step === 'add') {
          const id = table.nextId();
          expect(everUsed).not.toContain(id);
          everUsed.push(id);
          for (const each of [table, peer, map]) each.set(id, `call ${id}`);
          continue;
        }
        const id = everUsed[step];
        if (id === undefined) continue;
        const wasThere = map.delete(id);
        expect([table.delete(id), peer.delete(id)]).toEqual([wasThere, wasThere]);
      }
      for (const each of [table, peer]) {
        expect(each.size).toBe(map.size);
        expect(new Set(each.values())).toEqual(new Set(map.values()));
        for (const id of everUsed) expect(each.get(id)).toBe(map.get(id));
      }
    }),
  );
});
