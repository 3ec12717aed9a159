/** Runners that are placed elsewhere by a setting. */
import { DEFAULT_RUNNER_SETTINGS } from '@batchwise/runners';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configJson, configText } from '../../src/config/config-report.js';
import { planRunners, runnerNames } from '../../src/planned-runner.js';
import { defineService } from '../../src/service/define-service.js';
import { fn } from '../../src/service/fn.js';
import { upstream } from '../../src/service/upstream.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

const { upstream: DEFAULTS } = DEFAULT_RUNNER_SETTINGS;
const GPU = 'grpc://gpu:8001/minilm';

function planned(text: string, env: Record<string, string> = {}, service?: ReturnType<typeof defineService>) {
  const { settings } = folder.load(text, { env });
  return planRunners(
    folder.load(text, { env, runnerNames: runnerNames(settings, service) }).settings,
    service,
  );
}

test('a runner is here unless it is said', () => {
  expect(planned('models: [models/digits.onnx]')).toMatchObject([
    { name: 'digits', source: { kind: 'onnx' }, settings: { upstream: { url: [] } } },
  ]);
});

test('a URL alone makes a runner, served like a model without code', () => {
  expect(planned(`runners: {minilm: {upstream: '${GPU}'}}`)).toMatchObject([
    {
      name: 'minilm',
      source: { kind: 'upstream' },
      settings: { batchable: true, upstream: { ...DEFAULTS, url: [GPU] } },
    },
  ]);
});

test('a map says more, and several URLs are copies', () => {
  const text = `
runners:
  minilm:
    upstream:
      url: [grpcs://a:8001, grpcs://b:8001]
      model: minilm-l6
      version: '2'
      format: json
      connections: 4
      start_timeout: 5m
      retries: 0
      max_failures: 2
      cooldown: 500ms
      health_interval: unlimited
      ca_file: ca.pem
      server_name: gpu.example
`;
  expect(planned(text)[0]?.settings.upstream).toEqual({
    url: ['grpcs://a:8001', 'grpcs://b:8001'],
    model: 'minilm-l6',
    version: '2',
    format: 'json',
    connections: 4,
    startTimeoutMs: 300_000,
    retries: 0,
    maxFailures: 2,
    cooldownMs: 500,
    healthIntervalMs: Number.POSITIVE_INFINITY,
    caFile: 'ca.pem',
    certFile: undefined,
    keyFile: undefined,
    serverName: 'gpu.example',
  });
});

test('certificates that are set for all runners are no mistake of one that needs none', () => {
  const text =
    'runners: {upstream: {ca_file: ca.pem}, a: {upstream: grpcs://a:1}, b: {upstream: grpc://b:1}}';
  expect(folder.complaints(text)).toEqual([]);
});

test('the environment says it too, in short and in parts', () => {
  const env = {
    BATCHWISE__RUNNERS__MINILM__UPSTREAM: 'grpc://a:8001,grpc://b:8001',
    BATCHWISE__RUNNERS__MINILM__UPSTREAM__MODEL: 'small',
  };
  expect(planned('', env)[0]).toMatchObject({
    name: 'minilm',
    settings: { upstream: { url: ['grpc://a:8001', 'grpc://b:8001'], model: 'small' } },
  });
});

test('among the models a URL is one, called as it says or as it is named', () => {
  const text = `models: ['${GPU}', {name: other, path: 'http://gpu:8000/v2/models/bert'}]`;
  expect(planned(text)).toMatchObject([
    { name: 'minilm', source: { kind: 'upstream' }, settings: { upstream: { url: [GPU] } } },
    { name: 'other', settings: { upstream: { url: ['http://gpu:8000/v2/models/bert'] } } },
  ]);
});

test('what is set goes before what the code says', () => {
  const service = defineService({
    runners: { a: upstream(GPU, { batchable: true }), b: fn((items: string[]) => items) },
    routes: () => [],
  });
  const text = 'runners: {a: {upstream: grpc://other:1}, b: {upstream: http://host/predict}}';
  expect(planned('', {}, service)).toMatchObject([
    { source: { kind: 'upstream' }, settings: { upstream: { url: [GPU] } } },
    { source: { kind: 'function' } },
  ]);
  expect(planned(text, {}, service)).toMatchObject([
    { source: { kind: 'upstream' }, settings: { upstream: { url: ['grpc://other:1'] } } },
    { source: { kind: 'upstream' }, settings: { upstream: { url: ['http://host/predict'] } } },
  ]);
});

describe('what cannot be meant is refused:', () => {
  test.each([
    ['runners: {m: {upstream: gpu:8001}}', /1:25: runners\.m\.upstream: .*expected a URL such as grpc:/],
    ['runners: {m: {upstream: grpc://gpu}}', /expected a port/],
    ['runners: {m: {upstream: [grpc://a:1, ftp://b]}}', /runners\.m\.upstream\[1\]/],
    ['runners: {m: {upstream: 5}}', /expected a URL such as .* got 5/],
    // Copies, and what belongs to TLS, were looked at where the runner is made: without file, line and key.
    [
      'runners: {m: {upstream: [grpc://a:1, http://b]}}',
      /yaml:1:38: runners\.m\.upstream\[1\]: expected upstreams of one kind, got grpc:\/\/a:1 and http:\/\/b/,
    ],
    [
      'runners: {m: {upstream: [grpc://a:1/m, grpc://b:1/n]}}',
      /upstream\[1\]: expected copies of one backend/,
    ],
    ['runners: {m: {upstream: [grpc://a:1, grpc://a:1]}}', /upstream\[1\]: expected each URL once/],
    [
      'runners: {m: {upstream: {url: grpcs://a:1, cert_file: c.pem}}}',
      /yaml:1:44: runners\.m\.upstream\.cert_file: expected key_file as well, got none/,
    ],
    [
      'runners: {upstream: {key_file: k.pem}, m: {upstream: grpcs://a:1}}',
      /yaml:1:22: runners\.upstream\.key_file: expected cert_file as well, got none/,
    ],
    [
      'runners: {m: {upstream: {url: http://a/x?key=secret, ca_file: ca.pem}}}',
      /m\.upstream\.ca_file: expected this only with grpcs:.*, got http:\/\/a\/x, which has no TLS/,
    ],
    ['runners: {upstream: {cert_file: c.pem}}', /runners\.upstream\.cert_file: expected key_file/],
    [
      'runners: {m: {upstream: {uri: grpc://a:1}}}',
      /runners\.m\.upstream\.uri: unknown key\. Did you mean url\?/,
    ],
    [
      'runners: {m: {upstream: {url: grpc://a:1, retries: -1}}}',
      /retries: expected a whole number from 0 to 10/,
    ],
    [
      'models: [http://gpu/v1/models/m:predict]',
      /models\[0\]: expected an upstream with the Open Inference Protocol/,
    ],
    ["models: ['grpc://gpu']", /expected a port/],
  ])('%s', (text, message) => {
    expect(folder.complaints(text).join('\n')).toMatch(message);
  });

  test('a function that no service can call', () => {
    expect(() => planned('runners: {m: {upstream: http://gpu/predict}}')).toThrow(
      /runners\.m\.upstream: http:\/\/gpu\/predict is a function, and only a service can call it/,
    );
  });

  test('a runner in two places', () => {
    expect(() => planned(`runners: {m: {upstream: '${GPU}', redis: {queue: q}}}`)).toThrow(
      /either redis\.queue or upstream, got both.*batchwise worker grpc:\/\/gpu:8001\/minilm --queue q/,
    );
  });

  test('upstream() with what is no URL', () => {
    expect(() => upstream('gpu')).toThrow(/expected a URL such as/);
    expect(() => upstream([])).toThrow(/upstream\(\[\], options\)/);
    expect(() => upstream(['http://a/x?key=secret', 'grpc://b:1'])).toThrow(
      'upstream(["http://a/x","grpc://b:1"], options): expected upstreams of one kind, got http://a/x and grpc://b:1.',
    );
    expect(() => upstream(GPU, { upstream: { retry: 1 } as never })).toThrow(/retry/);
  });
});

test('it is shown with where it is from, and can be read again', () => {
  const loaded = folder.load(`runners: {minilm: {upstream: '${GPU}'}}`);
  expect(configText(loaded)).toMatch(/url: grpc:\/\/gpu:8001\/minilm +# batchwise\.yaml:1:20/);
  expect(configJson(loaded).settings).toMatchObject({ runners: { minilm: { upstream: { url: GPU } } } });
  expect(planned(configText(loaded))[0]?.settings.upstream.url).toEqual([GPU]);
});
