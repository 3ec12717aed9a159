/** gRPC upstreams with another gRPC library, in their own processes. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createUpstreamRunner, type ModelRunner, type UpstreamSettings } from '../../src/index.js';
import { floats, numbersOf } from '../support/fake-model.js';
import { enqueue, type RunnerOutcome } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { startFailure } from '../support/start-failure.js';
import { until } from '../support/until.js';
import { startUpstream } from '../support/upstream-process.js';

async function runnerFor(url: string, changes: Partial<UpstreamSettings> = {}, timeoutMs = 60_000) {
  const defaults = settingsWith();
  const settings = { ...defaults, timeoutMs, upstream: { ...defaults.upstream, url: [url], ...changes } };
  const runner = createUpstreamRunner({ name: 'double', settings }) as unknown as ModelRunner;
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return runner;
}

const row = (value: number) => ({ inputs: new Map([['x', floats([1, 2], [value, 1])]]) });
const settled = (outcome: RunnerOutcome<unknown>) => until(() => outcome.settled > 0, 'an answer');
const firstOf = ({ result, error }: RunnerOutcome<ReadonlyMap<string, never>>) =>
  error ?? numbersOf(result?.get('y'))[0];

async function ask(runner: ModelRunner, ...values: number[]) {
  const outcomes = values.map((value) => enqueue(runner, row(value)));
  await Promise.all(outcomes.map(settled));
  return outcomes;
}

describe('a batch', () => {
  test.each(['raw', 'typed'])('is one ModelInfer call, and its outputs are split: %s', async (form) => {
    const upstream = await startUpstream('grpc-upstream.mjs', '0', form);
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}/doubler`);
    expect(runner.signature?.inputs).toEqual([{ name: 'x', datatype: 'FP32', shape: [-1, 2] }]);
    const outcomes = await ask(runner, 1, 2, 3);
    expect(outcomes.map((outcome) => firstOf(outcome as never))).toEqual([2, 4, 6]);
    expect(upstream.lines).toContain('infer doubler 3 1,2,3');
    expect(outcomes[0]?.trace?.batchSize).toBe(3);
  });

  test('that is rejected for one request fails only this request', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
    const outcomes = await ask(runner, 1, -1, 3, -2);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([
      undefined,
      'INVALID_ITEM',
      undefined,
      'HANDLER_FAILED',
    ]);
    expect(outcomes[1]?.error?.message).toMatch(
      /^double: the upstream: INVALID_ARGUMENT: minus one is not allowed/,
    );
    expect(outcomes[3]?.error?.message).toMatch(/UNKNOWN: Exception calling application: minus two/);
    expect(runner.state).toBe('ready');
  });

  test('is not bisected when the upstream is unavailable', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
    const outcomes = await ask(runner, 1, -3, 3, 4);
    expect(outcomes.map(({ error }) => error?.code)).toEqual(Array(4).fill('UNAVAILABLE'));
    expect(upstream.lines.filter((line) => line.startsWith('infer'))).toEqual(['infer double 4 1,-3,3,4']);
  });

  test('that the upstream rejects because of overload has a retry time', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
    const [outcome] = await ask(runner, -4);
    expect(outcome?.error).toMatchObject({ code: 'OVERLOADED', retryAfterMs: 1500 });
  });

  test('with too few rows in its response fails only its own requests', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
    const [outcome] = await ask(runner, -7);
    expect(outcome?.error).toMatchObject({ code: 'BAD_RESULT' });
    const [next] = await ask(runner, 5);
    expect(firstOf(next as never)).toBe(10);
  });

  test('without callers is cancelled on the upstream', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
    const outcome = enqueue(runner, row(-6));
    await upstream.said(/^infer/);
    outcome.ticket?.cancel();
    await upstream.said(/^cancelled/);
    expect(outcome.error?.code).toBe('CANCELLED');
  });

  test('that exceeds its timeout is cancelled on the upstream', async () => {
    const upstream = await startUpstream('grpc-upstream.mjs');
    const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`, {}, 2000);
    const [outcome] = await ask(runner, -6);
    expect(outcome?.error?.code).toMatch(/DEADLINE_EXCEEDED|HANDLER_TIMEOUT/);
    await upstream.said(/^cancelled/);
  });
});

test('the state of the runner follows an upstream that crashes and restarts', async () => {
  const upstream = await startUpstream('grpc-upstream.mjs');
  const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`, { cooldownMs: 50 });
  const [crashed, beside] = await ask(runner, -5, 1);
  expect([crashed?.error?.code, beside?.error?.code]).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
  await until(() => runner.state === 'failed', 'the runner to fail');
  const [refused] = await ask(runner, 1);
  expect(refused?.error).toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: expect.any(Number) });
  await startUpstream('grpc-upstream.mjs', String(upstream.port));
  await until(() => runner.state === 'ready', 'the runner to be ready again');
  const [outcome] = await ask(runner, 4);
  expect(firstOf(outcome as never)).toBe(8);
});

test('an upstream that ends without traffic is detected', async () => {
  const upstream = await startUpstream('grpc-upstream.mjs');
  const runner = await runnerFor(`grpc://127.0.0.1:${upstream.port}`);
  await upstream.kill();
  await until(() => runner.state === 'failed', 'the runner to fail');
});

test('an unreachable upstream fails the start with its address and the reason', async () => {
  const upstream = await startUpstream('grpc-upstream.mjs');
  await upstream.kill();
  const url = `grpc://127.0.0.1:${upstream.port}`;
  const why = new RegExp(`${url} was not ready within \\d+ ms: .*ECONNREFUSED`);
  const error = await startFailure((startTimeoutMs) => runnerFor(url, { startTimeoutMs }), why);
  expect(error).toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(why) });
});

test('one copy takes over when the other ends', async () => {
  const [first, second] = await Promise.all([
    startUpstream('grpc-upstream.mjs'),
    startUpstream('grpc-upstream.mjs'),
  ]);
  const url = [first.port, second.port].map((port) => `grpc://127.0.0.1:${port}`);
  const runner = await runnerFor(url[0] as string, { url, maxFailures: 1 });
  await first.kill();
  for (let i = 1; i < 6; i++) {
    const [outcome] = await ask(runner, i);
    if (outcome?.error === undefined) expect(firstOf(outcome as never)).toBe(2 * i);
    else expect(outcome.error.code).toBe('UNAVAILABLE');
  }
  const outcomes = await ask(runner, 7, 8, 9);
  expect(outcomes.map((outcome) => firstOf(outcome as never))).toEqual([14, 16, 18]);
  expect(runner.state).toBe('ready');
});
