import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Unanswered, type Waiting } from '../../src/http/unanswered.js';

class Request implements Waiting {
  olderOne: this | undefined = undefined;
  newerOne: this | undefined = undefined;
}

test('those who wait are told in the order in which they came, whoever leaves between', () => {
  const steps = fc.array(fc.oneof(fc.constant('come' as const), fc.nat({ max: 30 })), { maxLength: 100 });
  fc.assert(
    fc.property(steps, (plan) => {
      const unanswered = new Unanswered<Request>();
      const expected = new Set<Request>();
      for (const step of plan) {
        if (step === 'come') {
          const request = new Request();
          unanswered.add(request);
          expected.add(request);
          continue;
        }
        const leaving = [...expected][step];
        if (leaving === undefined) continue;
        expected.delete(leaving);
        unanswered.delete(leaving);
        expect([leaving.olderOne, leaving.newerOne]).toEqual([undefined, undefined]);
      }
      expect([...unanswered]).toEqual([...expected]);
      expect([unanswered.size, unanswered.oldest]).toEqual([expected.size, [...expected][0]]);
    }),
  );
});

test('one may leave while all are gone through', () => {
  const unanswered = new Unanswered<Request>();
  const requests = [new Request(), new Request(), new Request()];
  for (const request of requests) unanswered.add(request);
  const seen: Request[] = [];
  for (const request of unanswered) {
    seen.push(request);
    unanswered.delete(request);
  }
  expect(seen).toEqual(requests);
  expect(unanswered.size).toBe(0);
});
