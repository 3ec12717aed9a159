/** The batched method of a gRPC service, in a process of its own. */
import { expect, onTestFinished, test } from 'vitest';
import { createUpstreamRunner, type Runner } from '../../src/index.js';
import { enqueue } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';
import { startUpstream } from '../support/upstream-process.js';

async function mirror() {
  const upstream = await startUpstream('stream-upstream.mjs');
  const defaults = settingsWith();
  const url = [`grpc-stream://127.0.0.1:${upstream.port}/test.Mirror/BatchedReverse`];
  const settings = { ...defaults, upstream: { ...defaults.upstream, url } };
  const runner = createUpstreamRunner({ name: 'mirror', settings });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return { upstream, runner };
}

async function ask(runner: Runner, ...items: unknown[]) {
  const outcomes = items.map((item) => enqueue(runner, item));
  await Promise.all(outcomes.map((outcome) => until(() => outcome.settled > 0, 'an answer')));
  return outcomes.map(({ result, error }) =>
    result instanceof Uint8Array ? Buffer.from(result).toString() : (error?.code ?? result),
  );
}

const text = (value: string) => Buffer.from(value);
const asking = (what: number) => Buffer.from([what]);

test('a batch is one stream, its answers go to whom they belong', async () => {
  const { upstream, runner } = await mirror();
  expect(await ask(runner, text('abc'), text(''), text('xy'))).toEqual(['cba', '', 'yx']);
  expect(upstream.lines).toContain('batch 3');
});

test('items that are no bytes are refused, the others go', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), 'no bytes', text('cd'))).toEqual(['ba', 'INVALID_ITEM', 'dc']);
});

test('an error of one item is that item’s only', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(1), text('cd'))).toEqual(['ba', 'INVALID_ITEM', 'dc']);
});

test('an error half way leaves the answered their answers', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(2), text('cd'))).toEqual([
    'ba',
    'HANDLER_FAILED',
    'HANDLER_FAILED',
  ]);
  expect(await ask(runner, text('ef'))).toEqual(['fe']);
});

test('too few answers are an error of those without one', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(3), text('cd'))).toEqual(['ba', 'BAD_RESULT', 'BAD_RESULT']);
});

test('more answers than items are passed over', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(5))).toEqual(['ba', 'one more']);
  expect(await ask(runner, text('ef'))).toEqual(['fe']);
});

test('a stream that nobody waits for is cancelled there too', async () => {
  const { upstream, runner } = await mirror();
  const outcome = enqueue(runner, asking(4));
  await upstream.said(/^batch/);
  outcome.ticket?.cancel();
  await upstream.said(/^cancelled/);
  expect(outcome.error?.code).toBe('CANCELLED');
});

test('a killed upstream fails its batch, and the runner says so', async () => {
  const { upstream, runner } = await mirror();
  const outcome = enqueue(runner, asking(4));
  await upstream.said(/^batch/);
  await upstream.kill();
  await until(() => outcome.settled > 0, 'an answer');
  expect(outcome.error?.code).toBe('UNAVAILABLE');
  await until(() => runner.state === 'failed', 'the runner to fail');
});
