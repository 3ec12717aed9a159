import { DEFAULT_RUNNER_SETTINGS } from '@batchwise/runners';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkRunnerNames } from '../../src/config/check-runner-names.js';
import { changeText, diffReloadable } from '../../src/config/reloadable.js';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { ConfigFolder, complaintsOf } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

describe('what counts for a runner', () => {
  test('by default, batchable for models only', () => {
    const { settings } = folder.load('');
    expect(resolveRunner(settings, 'a', { isBatchable: false })).toEqual(DEFAULT_RUNNER_SETTINGS);
    expect(resolveRunner(settings, 'a', { isBatchable: true })).toEqual({
      ...DEFAULT_RUNNER_SETTINGS,
      batchable: true,
    });
    expect(
      resolveRunner(folder.load('runners: {batchable: false}').settings, 'a', { isBatchable: true })
        .batchable,
    ).toBe(false);
  });

  test('is merged at every depth', () => {
    const { settings } = folder.load(`
runners:
  batching: {max_batch_size: 8, prefer: efficiency, max_wait_ms: 4}
  resources: {cpu: 2, gpu: 1}
  timeout: 5
  iris:
    batching: {max_batch_size: 16, max_wait_ms: null}
    resources: {cpu: null}
`);
    expect(resolveRunner(settings, 'iris', { isBatchable: false })).toEqual({
      ...DEFAULT_RUNNER_SETTINGS,
      batching: {
        ...DEFAULT_RUNNER_SETTINGS.batching,
        maxBatchSize: 16,
        prefer: 'efficiency',
        maxWaitMs: undefined,
      },
      resources: { cpu: undefined, gpu: [0] },
      timeoutMs: 5000,
    });
  });

  test('goes over what the code of a service says', () => {
    const { settings } = folder.load('runners: {timeout: 5}');
    const code = { batchable: true, timeoutMs: 1, batching: { maxBatchSize: 4 } } as const;
    expect(resolveRunner(settings, 'a', { isBatchable: false, code })).toMatchObject({
      batchable: true,
      timeoutMs: 5000,
      batching: { maxBatchSize: 4, targetLatencyMs: 1000 },
    });
  });
});

describe('settings of runners that do not exist', () => {
  const text = 'runners:\n  batching: {enabled: true}\n  irsi:\n    batching: {max_batch_size: 4}\n';

  test('are refused with what may have been meant', () => {
    const complaint = 'batchwise.yaml:3:3: runners.irsi: there is no runner irsi. Did you mean iris?';
    expect(folder.complaints(text, { runnerNames: ['iris', 'digits'] })).toEqual([complaint]);
    expect(complaintsOf(() => checkRunnerNames(folder.load(text), ['iris', 'digits']))).toEqual([complaint]);
  });

  test('or with what there is', () => {
    expect(folder.complaints(text, { runnerNames: ['digits', 'mnist'] })).toEqual([
      'batchwise.yaml:3:3: runners.irsi: there is no runner irsi. There are digits, mnist.',
    ]);
    expect(folder.complaints(text, { runnerNames: [] })).toEqual([
      'batchwise.yaml:3:3: runners.irsi: there is no runner irsi. There are none.',
    ]);
  });

  test('a setting of all that is mistyped is one of those', () => {
    expect(folder.complaints('runners: {resourses: {batchable: true}}', { runnerNames: ['iris'] })).toEqual([
      'batchwise.yaml:1:11: runners.resourses: there is no runner resourses. Did you mean resources?',
    ]);
  });

  test('those that exist are fine', () => {
    const loaded = folder.load('runners: {iris: {warmup: 1}}', { runnerNames: ['iris', 'digits'] });
    expect(() => checkRunnerNames(loaded, ['iris'])).not.toThrow();
  });
});

describe('a changed file', () => {
  const diff = (before: string, after: string) => {
    const { live, restart } = diffReloadable(folder.load(before).settings, folder.load(after).settings);
    return { live: live.map(changeText), restart: restart.map(changeText) };
  };

  test('that says the same changes nothing', () => {
    expect(diff('server: {port: 3000}', 'runners: {timeout: 30s}')).toEqual({ live: [], restart: [] });
    expect(diff('runners: {iris: {warmup: 3}}', '')).toEqual({ live: [], restart: [] });
    expect(diff('runners: {timeout: 5}', 'runners: {timeout: 5, iris: {timeout: 5s}}')).toEqual({
      live: [],
      restart: [],
    });
  });

  test('is taken over in what is under batching, and in time-outs', () => {
    expect(
      diff(
        'runners: {batching: {max_batch_size: 8}, iris: {timeout: 5}}',
        'runners: {batching: {max_batch_size: 9, target_latency_ms: unlimited, max_wait_ms: 2}, iris: {batching: {enabled: false}}}',
      ),
    ).toEqual({
      live: [
        'runners.batching.max_batch_size: 8 → 9',
        'runners.batching.target_latency_ms: 1000 → unlimited',
        'runners.batching.max_wait_ms: null → 2',
        'runners.iris.batching.enabled: true → false',
        'runners.iris.timeout: 5s → 30s',
      ],
      restart: [],
    });
  });

  test('needs a restart for everything else', () => {
    expect(
      diff(
        'models: [a.onnx]',
        'models: [a.onnx, {name: c, path: b.onnx}]\nserver: {port: 1, limits: {body_bytes: 1KiB}}\nrunners: {batchable: true, iris: {replicas: 2, batch_dim: [0, 1]}}',
      ),
    ).toEqual({
      live: [],
      restart: [
        'server.port: 3000 → 1',
        'server.limits.body_bytes: 4MiB → 1KiB',
        'models: ["a.onnx"] → ["a.onnx",{"name":"c","path":"b.onnx"}]',
        'runners.batchable: default → true',
        'runners.iris.batch_dim: [0,0] → [0,1]',
        'runners.iris.replicas: 1 → 2',
      ],
    });
  });
});
