/** HTTP upstreams in their own processes. */
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createUpstreamRunner,
  type ModelRunner,
  type Runner,
  type UpstreamSettings,
} from '../../src/index.js';
import { floats, numbersOf } from '../support/fake-model.js';
import { enqueue, type RunnerOutcome } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { startFailure } from '../support/start-failure.js';
import { until } from '../support/until.js';
import { startUpstream } from '../support/upstream-process.js';

async function runnerFor(
  url: string,
  changes: Partial<UpstreamSettings> = {},
  timeoutMs = 60_000,
): Promise<Runner> {
  const defaults = settingsWith();
  const settings = { ...defaults, timeoutMs, upstream: { ...defaults.upstream, url: [url], ...changes } };
  const runner = createUpstreamRunner({ name: 'double', settings });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return runner;
}

const row = (value: number) => ({ inputs: new Map([['x', floats([1, 2], [value, 1])]]) });
const firstOf = ({ result }: RunnerOutcome<unknown>) =>
  numbersOf((result as ReadonlyMap<string, never> | undefined)?.get('y'))[0];

async function ask(runner: Runner, items: readonly unknown[]) {
  const outcomes = items.map((item) => enqueue(runner, item));
  await Promise.all(outcomes.map((outcome) => until(() => outcome.settled > 0, 'an answer')));
  return outcomes;
}
const predictRows = (runner: Runner, ...values: number[]) => ask(runner, values.map(row));

describe('a model over REST', () => {
  test.each(['binary', 'json'] as const)('gets a batch in one call: %s', async (format) => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}/v2/models/double`, { format });
    expect((runner as unknown as ModelRunner).signature?.outputs[0]?.name).toBe('y');
    const outcomes = await predictRows(runner, 1, 2, 3);
    expect(outcomes.map(firstOf)).toEqual([2, 4, 6]);
    expect(upstream.lines).toContain(`infer 3 ${format} 60000`);
  });

  test('that rejects one request fails only this request', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}`);
    const outcomes = await predictRows(runner, 1, -1, 3, -2);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([
      undefined,
      'INVALID_ITEM',
      undefined,
      'HANDLER_FAILED',
    ]);
    expect(outcomes[1]?.error?.message).toMatch(/HTTP 400: minus one is not allowed/);
  });

  test.each([
    [-3, { code: 'UNAVAILABLE', retryAfterMs: 3000 }, /HTTP 503: loading/],
    [-4, { code: 'UNAVAILABLE' }, /the connection failed \(ECONNRESET\)/],
    [-5, { code: 'BAD_RESULT' }, /invalid response: body: expected JSON/],
    [-7, { code: 'UNAVAILABLE' }, /the response is incomplete/],
  ])('that fails a whole batch does not get its parts: %i', async (value, error, message) => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}`);
    const outcomes = await predictRows(runner, 1, value, 3);
    for (const outcome of outcomes) {
      expect(outcome.error).toMatchObject(error);
      expect(outcome.error?.message).toMatch(message);
    }
    expect(upstream.lines.filter((line) => line.startsWith('infer'))).toHaveLength(1);
    expect((await predictRows(runner, 5)).map(firstOf)).toEqual([10]);
  });

  test('detects that all callers have cancelled', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}`);
    const outcome = enqueue(runner, row(-6));
    await upstream.said(/^infer/);
    outcome.ticket?.cancel();
    await upstream.said(/^closed/);
    expect(outcome.error?.code).toBe('CANCELLED');
  });

  test('that hangs exceeds the timeout', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}`, {}, 2000);
    const [outcome] = await predictRows(runner, -6);
    expect(outcome?.error?.code).toMatch(/DEADLINE_EXCEEDED|HANDLER_TIMEOUT/);
    await upstream.said(/^closed/);
  });

  test('that hangs is ejected, even if all deadlines are shorter than the timeout of the runner', async () => {
    // Root cause: calls that were reset because the deadlines of their callers were exceeded did not count.
    const upstream = await startUpstream('http-upstream.mjs');
    const url = `http://127.0.0.1:${upstream.port}`;
    const runner = await runnerFor(url, { maxFailures: 2, cooldownMs: 60_000 });
    for (let i = 0; i < 10; i++) expect((await predictRows(runner, 5)).map(firstOf)).toEqual([10]);
    for (let i = 0; i < 2; i++) {
      const outcome = enqueue(runner, row(-6), { timeoutMs: 1000 });
      await until(() => outcome.settled > 0, 'an answer');
      expect(outcome.error?.code).toBe('DEADLINE_EXCEEDED');
    }
    await until(() => runner.state === 'failed', 'the runner to fail');
  });

  test('gets calls again after a restart, and the state of the runner follows', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}`, {
      cooldownMs: 50,
      healthIntervalMs: 50,
    });
    await upstream.kill();
    await until(() => runner.state === 'failed', 'the runner to fail');
    await startUpstream('http-upstream.mjs', String(upstream.port));
    await until(() => runner.state === 'ready', 'the runner to be ready again');
    expect((await predictRows(runner, 6)).map(firstOf)).toEqual([12]);
  });

  test('without the model fails the start with its address and the reason', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const url = `http://127.0.0.1:${upstream.port}/v2/models/other`;
    const why = /models\/other was not ready within \d+ ms: .*HTTP 404: no \/v2/;
    const error = await startFailure((startTimeoutMs) => runnerFor(url, { startTimeoutMs }), why);
    expect(error).toMatchObject({ message: expect.stringMatching(why) });
  });
});

describe('instances and predictions', () => {
  test('are one call', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}/v1/models/m:predict`);
    const outcomes = await ask(runner, ['a', 'b', 'c']);
    expect(outcomes.map(({ result }) => result)).toEqual(['a!', 'b!', 'c!']);
    expect(upstream.lines).toContain('predict 3');
  });

  test('of one rejected item do not fail the other items', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}/v1/models/m:predict`);
    const outcomes = await ask(runner, ['a', 'bad', 'c']);
    expect(outcomes.map(({ result, error }) => result ?? error?.code)).toEqual(['a!', 'INVALID_ITEM', 'c!']);
  });

  test('must have the same length', async () => {
    const upstream = await startUpstream('http-upstream.mjs');
    const runner = await runnerFor(`http://127.0.0.1:${upstream.port}/v1/models/m:predict`);
    const [outcome] = await ask(runner, ['short', 'b']);
    expect(outcome?.error).toMatchObject({ code: 'BAD_RESULT' });
    expect(outcome?.error?.message).toMatch(/expected 2 predictions, got an array of 0/);
  });
});
