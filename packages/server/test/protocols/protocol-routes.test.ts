import { BatchwiseError } from 'batchwise';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpRoute } from '../../src/http/http-route.js';
import { protocolRoutes } from '../../src/protocols/protocol-routes.js';
import { EchoRunner } from './echo-runner.js';
import { callRoutes } from './fake-call.js';
import { ROWS_OF_4 } from './signatures.js';

const INFER = JSON.stringify({
  id: '42',
  inputs: [{ name: 'input', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }],
});
const PREDICT = JSON.stringify({ instances: [[1, 2, 3, 4]] });

let runner: EchoRunner;
let routes: readonly HttpRoute[];
let isReady: boolean;

const routesThatTrust = (...trustedHeaders: readonly ('priority' | 'tenant')[]) =>
  protocolRoutes({
    models: new Map([['rows', runner]]),
    isReady: () => isReady,
    name: 'batchwise',
    version: '0.1.0',
    maxTimeoutMs: 1000,
    trustedHeaders,
  });

beforeEach(() => {
  runner = new EchoRunner('rows', ROWS_OF_4);
  isReady = true;
  routes = routesThatTrust();
});

const get = (path: string) => callRoutes(routes, { method: 'GET', path });
const post = (path: string, body: string | Buffer, headers = {}) =>
  callRoutes(routes, { method: 'POST', path, body, headers });

describe('a request to a model', () => {
  test.each(['/v2/models/rows/infer', '/v2/models/rows/versions/1/infer'])('at %s is answered', (path) => {
    runner.trace = { batchSize: 3, queueMs: 1.23456, computeMs: 0.1 + 0.2 };
    const call = post(path, INFER);
    expect(call.json).toEqual({
      model_name: 'rows',
      model_version: '1',
      id: '42',
      outputs: [{ name: 'input_out', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }],
    });
    expect(call.answer).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/json',
        'batchwise-batch-size': '3',
        'batchwise-queue-ms': '1.235',
        'batchwise-compute-ms': '0.3',
      },
    });
  });

  test.each(['/v1/models/rows:predict', '/v1/models/rows/versions/1:predict'])(
    'at %s is answered',
    (path) => {
      const call = post(path, PREDICT, { 'content-type': 'application/x-www-form-urlencoded' });
      expect(call.json).toEqual({ predictions: [[1, 2, 3, 4]] });
      expect(call.answer?.headers).toMatchObject({ 'batchwise-batch-size': '1', 'batchwise-queue-ms': '0' });
    },
  );

  // The path is one of a model's status, too: it was looked for by the name `rows:predict`, and not found.
  test.each(['/v1/models/rows:predict', '/v1/models/rows/versions/1:predict'])(
    'at %s is told to POST when it is a GET',
    (path) => {
      expect(get(path).error).toMatchObject({
        code: 'METHOD_NOT_ALLOWED',
        message: `GET ${path}: expected POST.`,
        headers: { allow: 'POST' },
      });
    },
  );

  test('takes options from its headers, within the limit', () => {
    for (const [path, body] of [
      ['/v2/models/rows/infer', INFER],
      ['/v1/models/rows:predict', PREDICT],
    ] as const) {
      const headers = {
        'batchwise-timeout-ms': '5000',
        'batchwise-tenant': 'acme',
        'batchwise-priority': '1',
      };
      routes = routesThatTrust();
      post(path, body, headers);
      expect(runner.lastOptions).toEqual({ timeoutMs: 1000 });
      routes = routesThatTrust('priority', 'tenant');
      post(path, body, headers);
      expect(runner.lastOptions).toEqual({ timeoutMs: 1000, tenant: 'acme', priority: 1 });
      post(path, body);
      expect(runner.lastOptions).toBeUndefined();
      expect(post(path, body, { 'batchwise-priority': 'high' }).message).toBe(
        'header batchwise-priority: expected a whole number from -100 to 100, got "high".',
      );
    }
  });

  test('cannot choose its place in the queue by its body', () => {
    const parameters = { priority: 1, tenant: 'a', timeout: 1, timeout_ms: 1, 'batchwise-priority': 1 };
    post('/v2/models/rows/infer', JSON.stringify({ ...JSON.parse(INFER), parameters }));
    expect(runner.lastOptions).toBeUndefined();
    post('/v1/models/rows:predict', JSON.stringify({ ...JSON.parse(PREDICT), parameters }));
    expect(runner.lastOptions).toBeUndefined();
  });

  test('is cancelled when its client hangs up, and not answered any more', () => {
    runner.isHolding = true;
    const call = post('/v2/models/rows/infer', INFER);
    expect(call.isSettled).toBe(false);
    call.hangUp();
    expect(runner.cancelled).toBe(1);
    runner.release();
    expect(call.answer).toBeUndefined();
  });

  test('that was answered at once waits for no hang-up', () => {
    expect(post('/v2/models/rows/infer', INFER).hasGoneListener).toBe(false);
  });

  test('fails with what the runner says', () => {
    runner.result = new BatchwiseError('OVERLOADED', 'Too much.');
    expect(post('/v2/models/rows/infer', INFER).error).toBe(runner.result);
    expect(post('/v1/models/rows:predict', PREDICT).error).toBe(runner.result);
  });

  test('fails when the answer cannot be written', () => {
    runner.result = new Map();
    expect(post('/v2/models/rows/infer', INFER).error).toMatchObject({
      code: 'INTERNAL',
      message: 'The model returned no output "input_out".',
    });
  });

  test('is refused before the runner sees it when it is wrong', () => {
    expect(post('/v2/models/rows/infer', '{').error).toMatchObject({ code: 'BAD_REQUEST' });
    expect(post('/v2/models/rows/infer', INFER, { 'content-type': 'image/png' }).error).toMatchObject({
      code: 'UNSUPPORTED_MEDIA_TYPE',
    });
    expect(post('/v1/models/rows:predict', '[]').error).toMatchObject({ code: 'BAD_REQUEST' });
    expect(runner.last).toBeUndefined();
  });
});

describe('a model', () => {
  test('that does not exist is a 404 that names those that do, not all of a hundred', () => {
    const models = new Map(Array.from({ length: 100 }, (_, index) => [`m${index}`, runner]));
    const many = protocolRoutes({ models, isReady: () => true, name: 'b', version: '1' });
    const call = callRoutes(many, { method: 'POST', path: '/v2/models/x/infer', body: INFER });
    expect(call.error).toMatchObject({ code: 'NOT_FOUND' });
    expect(call.message).toBe(
      'There is no model "x"; this server has "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9" and 90 more.',
    );
    for (const path of ['/v2/models/x', '/v2/models/x/ready', '/v1/models/__proto__']) {
      expect(get(path).message).toMatch(/^There is no model ".*"; this server has "rows"\.$/);
    }
    expect(post('/v1/models/x:predict', PREDICT).error).toMatchObject({ code: 'NOT_FOUND' });
    const none = protocolRoutes({ models: new Map(), isReady: () => true, name: 'b', version: '1' });
    expect(callRoutes(none, { method: 'GET', path: '/v2/models/x' }).message).toBe(
      'There is no model "x"; this server has none.',
    );
  });

  test('has one version', () => {
    expect(get('/v2/models/rows/versions/2').message).toBe(
      'There is no version "2" of the model "rows"; it has "1".',
    );
    expect(get('/v2/models/rows/versions/1').json).toEqual(get('/v2/models/rows').json);
  });

  test.each([
    ['loading', 'the model is loading'],
    ['failed', 'the model could not be loaded'],
    ['closed', 'the model is shut down'],
  ] as const)('that is %s is not asked', (state, reason) => {
    runner.state = state;
    if (state === 'failed') runner.signature = undefined;
    for (const call of [
      post('/v2/models/rows/infer', INFER),
      post('/v1/models/rows:predict', PREDICT),
      get('/v2/models/rows'),
    ]) {
      expect(call.error).toMatchObject({
        code: 'NOT_READY',
        message: `The model "rows" is not ready: ${reason}.`,
      });
    }
    expect(get('/v2/models/rows/ready').answer).toMatchObject({
      status: 503,
      body: '{"name":"rows","ready":false}',
    });
    expect(get('/v1/models/rows').json).toMatchObject({ ready: false });
    expect(runner.last).toBeUndefined();
  });

  test('that was loaded and is away is asked all the same: it says itself why not, and for how long', () => {
    runner.state = 'failed';
    expect(get('/v2/models/rows/ready').answer).toMatchObject({ status: 503 });
    post('/v2/models/rows/infer', INFER);
    expect(runner.last).toBeDefined();
  });

  test('tells what it takes and gives', () => {
    expect(get('/v2/models/rows').json).toEqual({
      name: 'rows',
      versions: ['1'],
      platform: 'onnxruntime_onnx',
      inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, 4] }],
      outputs: [{ name: 'input_out', datatype: 'FP32', shape: [-1, 4] }],
    });
  });

  test('tells its status in the words of both first protocols', () => {
    expect(get('/v1/models').json).toEqual({ models: ['rows'] });
    expect(get('/v1/models/rows').json).toEqual({
      name: 'rows',
      ready: true,
      model_version_status: [
        { version: '1', state: 'AVAILABLE', status: { error_code: 'OK', error_message: '' } },
      ],
    });
  });
});

test('the server tells its name, its health and its extension', () => {
  expect(get('/v2').json).toEqual({
    name: 'batchwise',
    version: '0.1.0',
    extensions: ['binary_tensor_data'],
  });
  expect(get('/v2/health/live').answer).toMatchObject({ status: 200, body: '{"live":true}' });
  expect(get('/v2/health/ready').answer).toMatchObject({ status: 200, body: '{"ready":true}' });
  isReady = false;
  expect(get('/v2/health/ready').answer).toMatchObject({ status: 503, body: '{"ready":false}' });
  expect(get('/v2/models/rows/ready').answer).toMatchObject({ status: 200 });
});

test('only what asks a model is work that a draining server refuses; metrics see few names', () => {
  const work = routes.filter((route) => route.isWork !== false);
  expect(work.map(({ method, label }) => `${method} ${label}`)).toEqual([
    'POST /v2/models/{model}/infer',
    'POST /v2/models/{model}/infer',
    'POST /v1/models/{model}:predict',
    'POST /v1/models/{model}:predict',
  ]);
});
