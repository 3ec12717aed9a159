import type { MetricsSnapshot } from '@batchwise/metrics';
import { VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import type { HttpCall } from '../../src/http/http-route.js';
import { metricsRoute } from '../../src/metrics/metrics-route.js';
import { RequestError } from '../../src/request-error.js';

/** A call that remembers its first answer. */
function called() {
  const answers: unknown[] = [];
  const call = {
    reply: (status: number, headers: object, body: string) => answers.push({ status, headers, body }),
    fail: (error: unknown) => answers.push(error),
  } as unknown as HttpCall;
  return { call, answers };
}

const snapshot: MetricsSnapshot = [
  { type: 'gauge', name: 'a', help: 'A.', labelNames: [], rule: 'sum', series: [{ labels: [], value: 1 }] },
];

test('the answer is the text that Prometheus reads, also while the server drains', async () => {
  const clock = new VirtualClock();
  const route = metricsRoute(() => snapshot, { clock });
  expect(route).toMatchObject({ method: 'GET', path: '/metrics', isWork: false });
  const { call, answers } = called();
  await route.handle(call);
  expect(answers).toEqual([
    {
      status: 200,
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' },
      body: '# HELP a A.\n# TYPE a gauge\na 1\n',
    },
  ]);
  expect(clock.pendingTimers).toBe(0);
});

test('when nothing comes by the deadline, that is the answer', async () => {
  const clock = new VirtualClock();
  const { call, answers } = called();
  void metricsRoute(() => new Promise(() => {}), { clock, deadlineMs: 100 }).handle(call);
  await clock.advance(99);
  expect(answers).toEqual([]);
  await clock.advance(1);
  expect(answers).toEqual([expect.any(RequestError)]);
  expect(answers[0]).toMatchObject({
    code: 'NOT_READY',
    httpStatus: 503,
    message: expect.stringMatching('100 ms'),
  });
});

test('what goes wrong in collecting is for the server to answer, and leaves no timer behind', async () => {
  const clock = new VirtualClock();
  const { call, answers } = called();
  const fault = new Error('no supervisor');
  await expect(metricsRoute(() => Promise.reject(fault), { clock }).handle(call)).rejects.toBe(fault);
  expect(answers).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
});

// Each request asked all processes: 60 clients with pipelined requests kept them busy for 25 s.
test('requests that come while metrics are collected share the next collection', async () => {
  const collected: ((snapshot: MetricsSnapshot) => void)[] = [];
  const collect = () => new Promise<MetricsSnapshot>((resolve) => collected.push(resolve));
  const route = metricsRoute(collect, { clock: new VirtualClock() });
  const calls = Array.from({ length: 100 }, called);
  const handled = calls.map(({ call }) => route.handle(call));
  expect(collected.length).toBe(1);
  collected[0]?.(snapshot);
  await handled[0];
  expect(calls.map(({ answers }) => answers.length)).toEqual([1, ...new Array(99).fill(0)]);
  expect(collected.length).toBe(2);
  collected[1]?.(snapshot);
  await Promise.all(handled);
  expect(collected.length).toBe(2);
  const { call, answers } = called();
  const later = route.handle(call);
  expect(collected.length).toBe(3);
  collected[2]?.(snapshot);
  await later;
  expect(answers.length).toBe(1);
});
