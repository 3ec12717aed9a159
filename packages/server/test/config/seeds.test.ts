/** The fragments of BentoML's documents, as they are written there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

const SEED_001 = `    runners:
        iris_clf:
            batching:
                enabled: true
                max_batch_size: 100
                max_latency_ms: 500
`;

const SEED_003 = `    # Config file controls the attributes of the runner
    runners:
        batching:
            enabled: true
            max_batch_size: 100
            max_latency_ms: 500
`;

describe('unchanged', () => {
  test('settings of one runner', () => {
    const { settings } = folder.load(SEED_001);
    expect(settings.runners.byName.get('iris_clf')).toEqual({
      batching: { enabled: true, maxBatchSize: 100, targetLatencyMs: 500 },
    });
    expect(resolveRunner(settings, 'iris_clf', { isBatchable: true }).batching.targetLatencyMs).toBe(500);
    expect(resolveRunner(settings, 'other', { isBatchable: true }).batching.targetLatencyMs).toBe(1000);
  });

  test('settings of all runners', () => {
    const { settings } = folder.load(SEED_003);
    for (const name of ['iris_clf', 'other'])
      expect(resolveRunner(settings, name, { isBatchable: false }).batching).toMatchObject({
        enabled: true,
        maxBatchSize: 100,
        targetLatencyMs: 500,
      });
  });

  test('under the name of bentoconfiguration.yaml too, when it is asked for', () => {
    folder.write('batchwise.yaml', '');
    const file = folder.write('bentoconfiguration.yaml', SEED_003);
    expect(folder.load('').settings.runners.all).toEqual({});
    expect(folder.load('', { file }).settings.runners.all.batching?.targetLatencyMs).toBe(500);
  });
});

describe('words of BentoML', () => {
  test.each([
    ['resources: {cpu: 4, nvidia.com/gpu: 2}', { resources: { cpu: 4, gpu: [0, 1] } }],
    ['resources: {nvidia.com/gpu: [2, 3]}', { resources: { gpu: [2, 3] } }],
    ['timeout: 300', { timeoutMs: 300_000 }],
    ['traffic: {timeout: 60, max_concurrency: 50}', { timeoutMs: 60_000, batching: { maxQueueSize: 50 } }],
    ['workers_per_resource: 2', { replicas: 2 }],
    ['batching: {enabled: no}', { batching: { enabled: false } }],
    ['batching: {max_latency_ms: 500}', { batching: { targetLatencyMs: 500 } }],
  ])('%s', (text, overrides) => {
    expect(folder.load(`version: 1\nrunners: {${text}}`).settings.runners.all).toEqual(overrides);
    expect(folder.load(`runners: {iris: {${text}}}`).settings.runners.byName.get('iris')).toEqual(overrides);
  });

  test.each([
    [
      'api_server: {workers: 2}',
      'batchwise.yaml:1:1: api_server: a key of BentoML: use server: server.host, server.port, server.workers, server.limits.',
    ],
    [
      'runners: {logging: {access: {enabled: true}}}',
      'batchwise.yaml:1:11: runners.logging: a key of BentoML: it has no equivalent.',
    ],
    [
      'runners: {iris: {metrics: {enabled: true}}}',
      'batchwise.yaml:1:18: runners.iris.metrics: a key of BentoML: metrics of runners are always on, at /metrics.',
    ],
    [
      'runners: {traffic: {external_queue: true}}',
      'batchwise.yaml:1:21: runners.traffic.external_queue: a key of BentoML: requests are always queued; batching.max_queue_size limits the queue.',
    ],
    [
      'runners: {workers_per_resource: 0.5}',
      'batchwise.yaml:1:33: runners.workers_per_resource: expected a whole number from 1 to 256, got 0.5.',
    ],
    ['version: 2', 'batchwise.yaml:1:10: version: expected 1, or no version at all, got 2.'],
  ])('%s is refused with advice', (text, complaint) => {
    expect(folder.complaints(text)).toEqual([complaint]);
  });

  test('max_latency_ms works in variables, for all runners and for one', () => {
    const env = {
      BATCHWISE__RUNNERS__BATCHING__MAX_LATENCY_MS: '300',
      BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_LATENCY_MS: '200',
    };
    const { settings, origins } = folder.load('runners: {iris: {batching: {target_latency_ms: 100}}}', {
      env,
    });
    expect(settings.runners.all.batching?.targetLatencyMs).toBe(300);
    expect(settings.runners.byName.get('iris')?.batching?.targetLatencyMs).toBe(200);
    expect(origins.get('runners.iris.batching.target_latency_ms')).toEqual({
      kind: 'environment',
      variable: 'BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_LATENCY_MS',
    });
  });

  test('an error has the key of the file', () => {
    expect(folder.complaints('runners: {iris: {batching: {max_latency_ms: fast}}}')).toEqual([
      'batchwise.yaml:1:45: runners.iris.batching.max_latency_ms: expected milliseconds from 1 to 86,400,000, or unlimited, got the string "fast".',
    ]);
  });

  test('two names of one setting in one source are rejected, with both places', () => {
    expect(folder.complaints('runners:\n  timeout: 5\n  traffic:\n    timeout: 6\n')).toEqual([
      'batchwise.yaml:4:5: runners.traffic.timeout: the same setting as at batchwise.yaml:2:3: both are runners.timeout. Keep one.',
    ]);
    expect(
      folder.complaints(
        'runners:\n  iris:\n    batching:\n      target_latency_ms: 5\n      max_latency_ms: 5\n',
      ),
    ).toEqual([
      'batchwise.yaml:5:7: runners.iris.batching.max_latency_ms: the same setting as at batchwise.yaml:4:7: both are runners.iris.batching.target_latency_ms. Keep one.',
    ]);
    expect(
      folder.complaints('', {
        env: {
          BATCHWISE__RUNNERS__BATCHING__MAX_LATENCY_MS: '5',
          BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: '5',
        },
      }),
    ).toEqual([
      'BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: the same setting as BATCHWISE__RUNNERS__BATCHING__MAX_LATENCY_MS: both are runners.batching.target_latency_ms. Keep one.',
    ]);
  });

  test('both names are fine at different levels', () => {
    const text = 'runners: {batching: {max_latency_ms: 7}, iris: {batching: {target_latency_ms: 8}}}';
    expect(folder.load(text).settings.runners.all.batching).toEqual({ targetLatencyMs: 7 });
    expect(folder.load(text).settings.runners.byName.get('iris')?.batching).toEqual({ targetLatencyMs: 8 });
  });
});
