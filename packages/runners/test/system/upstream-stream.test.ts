/** The batched method of a gRPC service in its own process. */
import { expect, onTestFinished, test } from 'vitest';
import { createUpstreamRunner, type Runner } from '../../src/index.js';
import { enqueue } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';
import { startUpstream } from '../support/upstream-process.js';

async function mirror(log: (line: string) => void = () => {}) {
  const upstream = await startUpstream('stream-upstream.mjs');
  const defaults = settingsWith();
  const url = [`grpc-stream://127.0.0.1:${upstream.port}/test.Mirror/BatchedReverse`];
  const settings = { ...defaults, upstream: { ...defaults.upstream, url } };
  const runner = createUpstreamRunner({ name: 'mirror', settings, log });
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

test('a batch is one stream, and each item gets its own answer', async () => {
  const { upstream, runner } = await mirror();
  expect(await ask(runner, text('abc'), text(''), text('xy'))).toEqual(['cba', '', 'yx']);
  expect(upstream.lines).toContain('batch 3');
});

test('items that are not bytes are rejected, the others are sent', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), 'no bytes', text('cd'))).toEqual(['ba', 'INVALID_ITEM', 'dc']);
});

test('an error of one item fails only this item', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(1), text('cd'))).toEqual(['ba', 'INVALID_ITEM', 'dc']);
});

test('items keep the answers that came before an error', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(2), text('cd'))).toEqual([
    'ba',
    'HANDLER_FAILED',
    'HANDLER_FAILED',
  ]);
  expect(await ask(runner, text('ef'))).toEqual(['fe']);
});

test('items without an answer fail when the stream ends early', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(3), text('cd'))).toEqual(['ba', 'BAD_RESULT', 'BAD_RESULT']);
});

test('surplus answers are ignored', async () => {
  const { runner } = await mirror();
  expect(await ask(runner, text('ab'), asking(5))).toEqual(['ba', 'one more']);
  expect(await ask(runner, text('ef'))).toEqual(['fe']);
});

test('the slot of a batch is free after its last answer, not after the end of its stream', async () => {
  // Root cause: the batch lasted until the stream ended, and a backend that left it open blocked the next batch.
  const { runner } = await mirror();
  expect(await ask(runner, asking(6), text('ab'))).toEqual(['\u0006', 'ba']);
  expect(await ask(runner, text('cd'))).toEqual(['dc']);
});

test('a stream with endless answers is reset and logged once', async () => {
  // Root cause: surplus answers were read until the timeout, without a log line.
  const lines: string[] = [];
  const { upstream, runner } = await mirror((line) => lines.push(line));
  expect(await ask(runner, asking(7), text('ab'))).toEqual(['\u0007', 'ba']);
  await upstream.said(/^cancelled/);
  expect(lines).toEqual([
    `mirror: grpc-stream://127.0.0.1:${upstream.port}/test.Mirror/BatchedReverse: ` +
      'got more answers than items for a batch of 2; the stream is reset.',
  ]);
});

test('an item that failed in the backend has the same code as a batch that failed', async () => {
  // Root cause: a status that causes bisecting has no code, and single items had none either.
  const { runner } = await mirror();
  expect(await ask(runner, asking(8), text('ab'))).toEqual(['HANDLER_FAILED', 'ba']);
});

test('a stream without callers is cancelled on the upstream', async () => {
  const { upstream, runner } = await mirror();
  const outcome = enqueue(runner, asking(4));
  await upstream.said(/^batch/);
  outcome.ticket?.cancel();
  await upstream.said(/^cancelled/);
  expect(outcome.error?.code).toBe('CANCELLED');
});

test('a killed upstream fails its batch, and the state of the runner follows', async () => {
  const { upstream, runner } = await mirror();
  const outcome = enqueue(runner, asking(4));
  await upstream.said(/^batch/);
  await upstream.kill();
  await until(() => outcome.settled > 0, 'an answer');
  expect(outcome.error?.code).toBe('UNAVAILABLE');
  await until(() => runner.state === 'failed', 'the runner to fail');
});
