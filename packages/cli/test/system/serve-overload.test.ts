/** More than can be done: no at the door, at once, with when to come back; what was let in is answered. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Answer, HttpClient, jsonOf, problemIn } from './support/http-client.js';
import { Load } from './support/load.js';
import { Metrics } from './support/metrics.js';
import { fixture, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

function expectRefused(answer: Answer, code: string): void {
  const problem = problemIn(answer);
  expect(problem).toMatchObject({ status: 429, code, title: expect.any(String) });
  const { 'retry-after': seconds, 'retry-after-ms': ms } = answer.headers;
  expect(Number(seconds)).toBeGreaterThanOrEqual(1);
  expect(Number(ms)).toBeGreaterThanOrEqual(0);
  expect(problem.retry_after_ms).toBe(Number(ms));
  expect(Number(seconds)).toBe(Math.max(1, Math.ceil(Number(ms) / 1000)));
}

test('a full queue refuses while those before are still waiting, and these are answered', async () => {
  const server = await Serving.start([fixture('gated-service.ts')], {
    yaml: `runners:\n  gated:\n    batching: { max_batch_size: 1, max_queue_size: 3, target_latency_ms: unlimited }\n`,
  });
  const waiting = (number: number) => server.client.post('/gated', { number });
  const accepted = [waiting(0)];
  await until(() => existsSync(join(server.folder, 'began')), 'the first is being worked on');
  for (let number = 1; number <= 3; number += 1) {
    accepted.push(waiting(number));
    await until(async () => {
      const metrics = await Metrics.of(server);
      return metrics.value('batchwise_queue_depth', { runner: 'gated' }) === number;
    }, `${number} wait`);
  }
  let answered = 0;
  for (const answer of accepted) void answer.then(() => (answered += 1));
  for (let i = 0; i < 20; i += 1) expectRefused(await waiting(99), 'QUEUE_FULL');
  expect(answered).toBe(0);
  const metrics = await Metrics.of(server);
  expect(metrics.value('batchwise_refusals_total', { runner: 'gated', cause: 'queue_full' })).toBe(20);

  writeFileSync(join(server.folder, 'open'), '');
  const answers = await Promise.all(accepted);
  expect(answers.map((answer) => jsonOf(answer))).toEqual([0, 1, 2, 3].map((number) => ({ number })));
  expect((await waiting(4)).status).toBe(200);
});

test.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])(
  '%s: what cannot be done within target_latency_ms is refused, the rest is answered, and it recovers',
  async (_, workers) => {
    // Twenty times in a second two at a time, with room for a few.
    const server = await Serving.start([fixture('gated-service.ts'), ...workers], {
      yaml: `runners:\n  slow:\n    batching: { max_batch_size: 2, target_latency_ms: 100 }\n`,
    });
    const load = new Load(server.port, {
      clients: 60,
      ask: async (client, number) => {
        const answer = await client.post('/slow', { number });
        if (answer.status === 200) expect(jsonOf(answer)).toEqual({ number });
        else expectRefused(answer, 'OVERLOADED');
        return answer;
      },
    });
    const count = (status: string) => load.statuses()[status] ?? 0;
    await until(() => count('200') >= 60 && count('429 OVERLOADED') >= 200, 'some are let in, many are not');
    await load.end();
    expect(load.outcomes).toHaveLength(load.sent);
    expect(Object.keys(load.statuses()).sort()).toEqual(['200', '429 OVERLOADED']);
    const metrics = await Metrics.of(server);
    expect(metrics.value('batchwise_refusals_total', { runner: 'slow', cause: 'overloaded' })).toBe(
      count('429 OVERLOADED'),
    );
    // A machine that stood still has made it look slower than it is; that is found out, and not at once.
    await until(async () => {
      for (let number = 0; number < 5; number += 1)
        if ((await server.client.post('/slow', { number })).status !== 200) return false;
      return true;
    }, 'five in a row are let in');
  },
);

test('a client that hangs up leaves the queue and the batch', async () => {
  const server = await Serving.start([fixture('places-service.ts')], {
    yaml: `runners:\n  held:\n    batching: { max_batch_size: 1, target_latency_ms: unlimited }\n`,
  });
  const began = join(server.folder, 'began');
  const aborted = join(server.folder, 'aborted');
  const linesIn = (file: string) =>
    existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').length : 0;
  const metric = async (name: string, labels: Record<string, string> = {}) =>
    (await Metrics.of(server)).value(name, { runner: 'held', ...labels });
  const ask = () => {
    const headers = { 'content-type': 'application/json' };
    const asked = request({ host: '127.0.0.1', port: server.port, method: 'POST', path: '/held', headers });
    asked.on('error', () => {});
    asked.end(JSON.stringify({ number: 1 }));
    return asked;
  };
  const running = ask();
  await until(() => linesIn(began) === 1, 'the first is being worked on');
  const queued = ask();
  await until(async () => (await metric('batchwise_queue_depth')) === 1, 'the second waits');

  queued.destroy();
  await until(async () => (await metric('batchwise_queue_depth')) === 0, 'the second has left');
  expect(linesIn(aborted)).toBe(0);
  running.destroy();
  await until(() => linesIn(aborted) === 1, 'the work is called off');
  await until(
    async () => (await metric('batchwise_items_total', { outcome: 'cancelled' })) === 2,
    'both are counted as cancelled',
  );
  // What was cancelled while it waited was never begun.
  expect(linesIn(began)).toBe(1);
  const requests = { protocol: 'http', route: '/held', outcome: 'cancelled' };
  await until(
    async () => (await Metrics.of(server)).value('batchwise_requests_total', requests) === 2,
    'the requests too',
  );
});

test('a deadline of the client counts: 504 when it is over, and the work is called off', async () => {
  const server = await Serving.start([fixture('places-service.ts')]);
  const client = new HttpClient(server.port);
  const answer = await client.post('/held', { number: 1 }, { 'batchwise-timeout-ms': '1000' });
  expect(problemIn(answer)).toMatchObject({ status: 504, code: 'DEADLINE_EXCEEDED' });
  await until(() => existsSync(join(server.folder, 'aborted')), 'the work is called off');
  client.close();
});
