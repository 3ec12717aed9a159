import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { variableOf } from '../../src/config/environment-settings.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

describe('names of runners in variables', () => {
  const named = (env: Record<string, string>, text = '', runnerNames?: string[]) => [
    ...folder.load(text, { env, runnerNames }).settings.runners.byName.keys(),
  ];

  test('are in lower case when nothing else is known', () => {
    expect(named({ BATCHWISE__RUNNERS__IRIS_CLF__WARMUP: '1' })).toEqual(['iris_clf']);
  });

  test('find those of the file, of models and of the service, whatever their case and signs', () => {
    const env = { BATCHWISE__RUNNERS__IRIS_CLF__WARMUP: '1' };
    expect(named(env, 'runners: {Iris-Clf: {replicas: 2}}')).toEqual(['Iris-Clf']);
    expect(named(env, 'models: [models/iris.clf.onnx]')).toEqual(['iris.clf']);
    expect(named(env, '', ['other', 'IRIS_clf'])).toEqual(['IRIS_clf']);
  });

  test('of flags too', () => {
    const env = { BATCHWISE__RUNNERS__MY_NET__WARMUP: '1' };
    const { settings } = folder.load('', { env, flags: { models: ['My-Net.onnx'] } });
    expect([...settings.runners.byName.keys()]).toEqual(['My-Net']);
  });

  test('may have two underscores of their own', () => {
    const env = { BATCHWISE__RUNNERS__A__B__WARMUP: '1', BATCHWISE__RUNNERS__A__REPLICAS: '2' };
    const { settings } = folder.load('', { env, runnerNames: ['a', 'a__b'] });
    expect(settings.runners.byName.get('a__b')).toEqual({ warmup: 1 });
    expect(settings.runners.byName.get('a')).toEqual({ replicas: 2 });
  });

  test('a setting of all goes before a runner of that name', () => {
    const env = { BATCHWISE__RUNNERS__BATCHING__ENABLED: 'false' };
    expect(folder.load('', { env, runnerNames: ['batching'] }).settings.runners.all).toEqual({
      batching: { enabled: false },
    });
  });
});

describe('values', () => {
  test.each<[string, string, (settings: ReturnType<ConfigFolder['load']>['settings']) => unknown, unknown]>([
    ['BATCHWISE__SERVER__PORT', '8080', ({ server }) => server.port, 8080],
    ['BATCHWISE__server__Port', ' 8080 ', ({ server }) => server.port, 8080],
    ['BATCHWISE__SERVER__HOST', '::1', ({ server }) => server.host, '::1'],
    ['BATCHWISE__SERVER__HOST', '1234', ({ server }) => server.host, '1234'],
    ['BATCHWISE__SERVER__GRPC_PORT', 'null', ({ server }) => server.grpcPort, undefined],
    [
      'BATCHWISE__SERVER__TRUSTED_HEADERS',
      'priority,tenant',
      ({ server }) => server.trustedHeaders.join('+'),
      'priority+tenant',
    ],
    [
      'BATCHWISE__SERVER__TRUSTED_HEADERS',
      'tenant',
      ({ server }) => server.trustedHeaders.join('+'),
      'tenant',
    ],
    ['BATCHWISE__SERVER__SHUTDOWN_TIMEOUT', '5', ({ server }) => server.shutdownTimeoutMs, 5000],
    ['BATCHWISE__SERVER__SHUTDOWN_TIMEOUT', '500ms', ({ server }) => server.shutdownTimeoutMs, 500],
    ['BATCHWISE__SERVER__LIMITS__BODY_BYTES', '1MiB', ({ server }) => server.limits.bodyBytes, 2 ** 20],
    ['BATCHWISE__METRICS__BENTOML_NAMES', 'true', ({ metrics }) => metrics.bentomlNames, true],
    ['BATCHWISE__SERVICE', './a: b.ts', ({ service }) => service, './a: b.ts'],
    ['BATCHWISE__SERVICE', 'null', ({ service }) => service, undefined],
    ['BATCHWISE__MODELS', 'a.onnx, b.onnx', ({ models }) => models.map(({ name }) => name), ['a', 'b']],
    ['BATCHWISE__MODELS', '[{name: x, path: a.onnx}]', ({ models }) => models[0]?.name, 'x'],
    ['BATCHWISE__RUNNERS__RESOURCES__GPU', '0,2', ({ runners }) => runners.all.resources?.gpu, [0, 2]],
    ['BATCHWISE__RUNNERS__RESOURCES__GPU', '2', ({ runners }) => runners.all.resources?.gpu, [0, 1]],
    ['BATCHWISE__RUNNERS__RESOURCES__NVIDIA_COM_GPU', '1', ({ runners }) => runners.all.resources?.gpu, [0]],
    ['BATCHWISE__RUNNERS__BATCH_DIM', '[0, 1]', ({ runners }) => runners.all.batchDim, [0, 1]],
    [
      'BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS',
      'unlimited',
      ({ runners }) => runners.all.batching?.targetLatencyMs,
      Number.POSITIVE_INFINITY,
    ],
  ])('%s=%s', (variable, value, seen, expected) => {
    expect(seen(folder.load('', { env: { [variable]: value } }).settings)).toEqual(expected);
  });

  test('an empty variable is as good as none', () => {
    const { settings, origins } = folder.load('server: {port: 1}', { env: { BATCHWISE__SERVER__PORT: '' } });
    expect(settings.server.port).toBe(1);
    expect(origins.get('server.port')?.kind).toBe('file');
  });

  test('those of the proxy are not the server’s business', () => {
    const env = { BATCHWISE__PROXY__PORT: '50049', BATCHWISE__SERVER__PORT: '1' };
    expect(folder.load('', { env }).settings.server.port).toBe(1);
  });

  test('paths are from the working directory, wherever the file is', () => {
    const { settings } = folder.load('', { env: { BATCHWISE__MODELS: 'm/a.onnx' } });
    expect(settings.models[0]?.path).toBe('m/a.onnx');
  });
});

test('the name of a variable is the path, in capitals', () => {
  expect(variableOf(['runners', 'iris-clf', 'batching', 'max_batch_size'])).toBe(
    'BATCHWISE__RUNNERS__IRIS_CLF__BATCHING__MAX_BATCH_SIZE',
  );
});
