/** Threads that fail, end and hang, with a program that does so on request. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatchwiseError, type Clock, realClock } from 'batchwise';
import { afterEach, describe, expect, test } from 'vitest';
import { createModelRunner, type ModelRunner, OnnxModel, predictor } from '../../src/index.js';
import { settingsWith } from '../support/settings.js';

const [FAIL, THROW, EXIT, HANG] = [-1, -2, -3, -4];
const LONGEST_PAUSE_MS = 10_000;
const thread = new URL('./threads/programmed-thread.mjs', import.meta.url);
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function running({ concurrency = 1, timeoutMs = 60_000, maxBatchSize = 1, clock = realClock } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'batchwise-threads-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'any.onnx');
  await writeFile(file, '');
  const deaths: BatchwiseError[] = [];
  const onThreadDeath = (error: BatchwiseError) => deaths.push(error);
  const model = new OnnxModel({ file, concurrency, thread, onThreadDeath, clock });
  const settings = settingsWith({
    concurrency,
    timeoutMs,
    batching: { maxBatchSize, targetLatencyMs: 60_000 },
  });
  const runner = createModelRunner({ name: 'programmed', model, settings });
  cleanups.push(() => runner.close({ timeoutMs: 1 }));
  await runner.ready;
  return { file, deaths, runner, ask: (value: number) => predictor(runner).predict(value) };
}

/** A real clock whose timers fire immediately, except timeouts. Records their delays. */
function impatientClock(): { clock: Clock; delays: number[] } {
  const delays: number[] = [];
  const clock: Clock = {
    ...realClock,
    setTimer(callback, delayMs) {
      if (delayMs > LONGEST_PAUSE_MS) return realClock.setTimer(callback, delayMs);
      delays.push(delayMs);
      return realClock.setTimer(callback, 0);
    },
  };
  return { clock, delays };
}

function expectWhole(runner: ModelRunner): void {
  const {
    submitted = 0,
    succeeded = 0,
    failed = 0,
    expired = 0,
    cancelled = 0,
    refused = 0,
  } = runner.stats() ?? {};
  expect(succeeded + failed + expired + cancelled + refused).toBe(submitted);
}

describe.each([
  ['throws', THROW, /told to throw/],
  ['exits', EXIT, /exit code 3/],
])('a thread that %s', (_, order, why) => {
  test('fails its batch immediately; a new thread serves the next batch', async () => {
    const { deaths, runner, ask } = await running();
    await expect(ask(order)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(why),
    });
    expect(deaths).toHaveLength(1);
    expect(await ask(21)).toBe(42);
    expectWhole(runner);
  });

  test('does not get its batch again: it is not bisected', async () => {
    const { deaths, runner, ask } = await running({ maxBatchSize: 4 });
    const answers = await Promise.allSettled([ask(order), ask(1), ask(2)]);
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
    expect(deaths).toHaveLength(1);
    expectWhole(runner);
  });

  test('does not affect other threads', async () => {
    const { ask } = await running({ concurrency: 2 });
    const lost = expect(ask(order)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => ask(i)));
    expect(answers).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i));
    await lost;
  });
});

test('an error of the model does not end its thread', async () => {
  const { deaths, ask } = await running();
  await expect(ask(FAIL)).rejects.toMatchObject({
    code: 'HANDLER_FAILED',
    message: expect.stringMatching(/told to fail/),
  });
  expect(await ask(1)).toBe(2);
  expect(deaths).toEqual([]);
});

test('a thread that hangs is terminated after the timeout and replaced', async () => {
  const { deaths, runner, ask } = await running({ timeoutMs: 300 });
  await expect(ask(HANG)).rejects.toMatchObject({ httpStatus: 504 });
  await expect.poll(() => deaths.length, { timeout: 300_000 }).toBe(1);
  await expect.poll(() => ask(4).catch(() => 'not yet'), { timeout: 300_000 }).toBe(8);
  expectWhole(runner);
});

test('while one thread hangs, the other serves', async () => {
  const { ask } = await running({ concurrency: 2, timeoutMs: 60_000 });
  const hung = ask(HANG);
  hung.catch(() => {});
  expect(await Promise.all([ask(1), ask(2), ask(3)])).toEqual([2, 4, 6]);
});

test('a thread that is being restarted gets no batch', async () => {
  const clock = { ...realClock, setTimer: () => undefined }; // no restart
  const { runner, ask } = await running({ concurrency: 2, clock });
  await expect(ask(EXIT)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await Promise.all([1, 2, 3, 4, 5].map(ask))).toEqual([2, 4, 6, 8, 10]);
  const states = runner.stats()?.backends?.map(({ state }) => state);
  expect(states?.sort()).toEqual(['ejected', 'ready']);
});

test('close() does not wait for a thread that hangs', async () => {
  const { runner, ask } = await running();
  const hung = expect(ask(HANG)).rejects.toMatchObject({ code: 'CLOSED' });
  await expect.poll(() => runner.stats()?.running).toBe(1);
  await runner.close({ timeoutMs: 1 });
  await hung;
});

test('the restart delay doubles for threads that keep ending, and requests fail meanwhile', async () => {
  const { clock, delays } = impatientClock();
  const { file, ask } = await running({ clock });
  await writeFile(`${file}.dies`, '');
  await expect(ask(THROW)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect.poll(() => delays.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(9);
  expect(delays.slice(0, 9)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  await expect(ask(1)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/ended repeatedly/),
  });

  await rm(`${file}.dies`);
  await expect.poll(() => ask(1).catch(() => 'not yet'), { timeout: 300_000 }).toBe(2);
  // The thread has completed a request, so the delay starts again at its first value.
  delays.length = 0;
  await expect(ask(EXIT)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(delays).toEqual([100]);
});

test('a thread that ends at its first start fails the load, without a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'batchwise-threads-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'any.onnx');
  await writeFile(file, '');
  await writeFile(`${file}.dies`, '');
  const { clock, delays } = impatientClock();
  const model = new OnnxModel({ file, thread, clock });
  await expect(model.load()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/any\.onnx: the thread of the model ended during its start: told to die/),
  });
  expect(delays).toEqual([]);
});
