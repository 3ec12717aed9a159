import { describe, expect, test } from 'vitest';
import { queueAddress } from '../src/queue/queue-flags.js';
import { withLongFlags } from '../src/worker/seed-flags.js';
import { policyOf, workerSettings } from '../src/worker/worker-settings.js';

describe('settings of a worker', () => {
  test('are empty by default, because the module may have settings', () => {
    expect(workerSettings({}, {})).toEqual({ options: {}, rule: undefined, processes: {} });
    const empty = { DYNAMIC_BATCHER__BATCH_SIZE: '', DYNAMIC_BATCHER__BATCH_TIME: '' };
    expect(workerSettings({}, empty)).toEqual({ options: {}, rule: undefined, processes: {} });
  });

  test('have the batch size and time of the environment', () => {
    const env = { DYNAMIC_BATCHER__BATCH_SIZE: '64', DYNAMIC_BATCHER__BATCH_TIME: '.5' };
    expect(workerSettings({}, env)).toEqual({
      options: { maxBatchSize: 64 },
      rule: { kind: 'window', seconds: 0.5 },
      processes: {},
    });
  });

  test('flags override the environment', () => {
    const env = { DYNAMIC_BATCHER__BATCH_SIZE: '64', DYNAMIC_BATCHER__BATCH_TIME: '2' };
    expect(workerSettings({ maxBatchSize: 8, batchTime: 0.25 }, env)).toEqual({
      options: { maxBatchSize: 8 },
      rule: { kind: 'window', seconds: 0.25 },
      processes: {},
    });
    expect(workerSettings({ policy: 'adaptive' }, env).rule).toEqual({ kind: 'adaptive' });
    expect(workerSettings({ policy: 'window' }, env).rule).toEqual({ kind: 'window', seconds: 2 });
  });

  test('a window without a batch time is --max-wait-ms, else 2 seconds', () => {
    expect(workerSettings({ policy: 'window' }, {}).rule).toEqual({ kind: 'window', seconds: 2 });
    expect(workerSettings({ policy: 'window', maxWaitMs: 30 }, {}).rule).toEqual({
      kind: 'window',
      seconds: 0.03,
    });
  });

  test('have all other flags', () => {
    const options = {
      maxWaitMs: 1,
      targetLatencyMs: 2,
      concurrency: 3,
      handlerTimeoutMs: 4,
      leaseMs: 500,
      maxDeliveries: 6,
      payload: 'msgpack' as const,
      isolate: true,
    };
    expect(workerSettings({ ...options, quiet: true, queue: 'q' }, {}).options).toEqual(options);
  });

  test('have the processes of a Python model, and the interpreter of the environment', () => {
    const env = { BATCHWISE__RUNNERS__PYTHON: '/opt/python' };
    expect(workerSettings({}, env).processes).toEqual({ python: '/opt/python' });
    expect(workerSettings({}, { BATCHWISE__RUNNERS__PYTHON: '' }).processes).toEqual({});
    expect(workerSettings({ python: '.venv', replicas: 2, gpu: [0, 1] }, env).processes).toEqual({
      python: '.venv',
      replicas: 2,
      resources: { cpu: undefined, gpu: [0, 1] },
    });
  });

  test('rules become policies', () => {
    expect(policyOf({ kind: 'window', seconds: 0 }).name).toBe('window');
    expect(policyOf({ kind: 'greedy' }).name).toBe('greedy');
    expect(policyOf({ kind: 'adaptive', prefer: 'efficiency' }).name).toMatch(/adaptive/);
  });
});

describe('the queue', () => {
  test('has the name of the flag, of the environment, or request', () => {
    const env = { REDIS__STREAM_KEY_REQUEST: 'asked' };
    expect(queueAddress({ queue: 'digits' }, env).queue).toBe('digits');
    expect(queueAddress({}, env).queue).toBe('asked');
    expect(queueAddress({}, { REDIS__STREAM_KEY_REQUEST: '' }).queue).toBe('request');
  });

  test('has the URL of the flag or of the environment', () => {
    const env = { REDIS__HOST: 'r', REDIS__PORT: '7', REDIS__DB: '2' };
    expect(queueAddress({ url: 'redis://flag' }, env)).toMatchObject({ url: 'redis://flag' });
    expect(queueAddress({}, env)).toMatchObject({ url: 'redis://r:7', database: 2 });
  });
});

describe('short flags of two letters', () => {
  test.each([
    [
      ['worker', 'h.ts', '-bs', '8', '-bt', '.5'],
      ['worker', 'h.ts', '--batch-size', '8', '--batch-time', '.5'],
    ],
    [
      ['worker', '--', '-bs'],
      ['worker', '--', '-bs'],
    ],
    [
      ['plan', '-bs'],
      ['plan', '-bs'],
    ],
    [[], []],
  ])('%s', (args, expected) => {
    expect(withLongFlags(args)).toEqual(expected);
  });
});
