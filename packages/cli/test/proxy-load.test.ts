import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_SERVER_LIMITS } from '@batchwise/grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proxySettings } from '../../proxy/src/options/proxy-options.js';
import { PROXY_SETTINGS } from '../src/proxy/proxy-schema.js';
import { optionsOf } from './support/proxy-options.js';

let cwd: string;

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'batchwise-proxy-'));
});

afterAll(() => rmSync(cwd, { recursive: true }));

function fromFile(yaml: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  writeFileSync(join(cwd, 'proxy.yaml'), yaml);
  return optionsOf(['-c', 'proxy.yaml', ...args], { cwd, env });
}

describe('a file', () => {
  test('has the same settings as flags', () => {
    const yaml = `
      max_batch_size: 8
      timeout_usecs: 2000
      max_batches_in_flight: 1
      forwarding_target: localhost:50051
      port: 50049
      admin_port: none
    `;
    expect(fromFile(yaml)).toEqual({
      adminPort: false,
      port: 50_049,
      targets: ['localhost:50051'],
      maxBatchesInFlight: 1,
      methods: [{ method: '*/Compute', maxBatchSize: 8, maxWaitMs: 2 }],
    });
  });

  test('has settings of methods, which override those of all methods', () => {
    const yaml = `
      targets: [gpu-1:50051, gpu-2:50051]
      max_batch_size: 32
      target_latency_ms: 50
      methods:
        - '*/Compute'
        - method: /iris.Classifier/Classify
          batched: ClassifyBatch
          max_batch_size: 256
          max_wait_ms: 5
          group_by_metadata: [tenant]
          group_by_bytes: [128, 512]
      health_check_interval_ms: 1000
      health_check_service: iris.Classifier
      ejection: false
      max_connections: 100
      keepalive_ms: 60000
    `;
    expect(fromFile(yaml)).toEqual({
      adminPort: 50_050,
      targets: ['gpu-1:50051', 'gpu-2:50051'],
      methods: [
        { method: '*/Compute', maxBatchSize: 32, targetLatencyMs: 50 },
        {
          method: '/iris.Classifier/Classify',
          batched: 'ClassifyBatch',
          maxBatchSize: 256,
          maxWaitMs: 5,
          targetLatencyMs: 50,
          groupBy: { metadata: ['tenant'], messageBytes: [128, 512] },
        },
      ],
      healthCheck: { intervalMs: 1000, service: 'iris.Classifier' },
      ejection: false,
      limits: { maxConnections: 100, keepaliveMs: 60_000 },
    });
  });

  test.each(['', '# nothing\n', '{}'])('may be empty: %j', (yaml) => {
    expect(fromFile(yaml)).toEqual({ adminPort: 50_050, methods: [{ method: '*/Compute' }] });
  });

  test('may have keys for anchors', () => {
    const yaml = 'x-big: &big {max_batch_size: 9}\nmethods:\n  - {method: /a.B/C, <<: *big}\n';
    expect(fromFile(yaml)).toMatchObject({ methods: [{ method: '/a.B/C', maxBatchSize: 9 }] });
  });

  test.each<[string, string[]]>([
    ['max_batchsize: 8', ['proxy.yaml:1:1: max_batchsize: unknown key. Did you mean max_batch_size?']],
    ['port: 1\nmaxWaitMs: 2', ['proxy.yaml:2:1: maxWaitMs: unknown key. Did you mean max_wait_ms?']],
    [
      'max_batch_size: many',
      ['proxy.yaml:1:17: max_batch_size: expected a whole number from 1 to 65,536, got the string "many".'],
    ],
    [
      'targets:\n  - localhost:50051\n  - localhost',
      [
        'proxy.yaml:3:5: targets[1]: expected host:port, [address]:port, unix:/path or dns:///name:port, got the string "localhost". Did you mean localhost:50051?',
      ],
    ],
    [
      'methods:\n  - method: /a.B/C\n    max_batch_siz: 3\n  - method: a.B/D',
      [
        'proxy.yaml:3:5: methods[0].max_batch_siz: unknown key. Did you mean max_batch_size?',
        'proxy.yaml:4:13: methods[1].method: expected /package.Service/Method, or */Method for any service, got the string "a.B/D". Did you mean /a.B/D?',
      ],
    ],
    [
      'methods: [{max_batch_size: 3}]',
      [
        'proxy.yaml:1:11: methods[0]: expected a method in it, such as method: /package.Service/Compute, got a map.',
      ],
    ],
    [
      'methods: []',
      [
        'proxy.yaml:1:10: methods: expected a list of methods, each path[=batched] or a map with method, batched and its batching, got an empty list.',
      ],
    ],
    ['methods: [3]', ['proxy.yaml:1:11: methods[0]: expected path[=batched], or a map with method, got 3.']],
    [
      'timeout_usecs: 5\nmax_wait_ms: 5',
      ['proxy.yaml:2:1: max_wait_ms: the same setting as timeout_usecs. Keep one.'],
    ],
    ['port: 1\nport: 2', ['proxy.yaml:2:1: duplicate key port, first at 1:1.']],
    [
      'methods:\n  - method: /a.B/C\n    method: /a.B/D',
      ['proxy.yaml:3:5: duplicate key method, first at 2:5.'],
    ],
    [
      '[1, 2]',
      [expect.stringMatching(/^proxy\.yaml:1:1: expected a map with max_batch_size, .*, got a list of 2\.$/)],
    ],
    ['tls_cert: c.pem', ['proxy.yaml:1:1: tls_cert: requires tls_key.']],
    [
      'backend_tls: false\nbackend_server_name: x',
      ['proxy.yaml:2:1: backend_server_name: requires backend_tls: true.'],
    ],
  ] as [string, string[]][])('%j is rejected with its position', (yaml, complaints) => {
    expect(fromFile(yaml)).toEqual(complaints);
  });

  test('that is no YAML is rejected with the position', () => {
    expect(fromFile('targets: [a:1')).toEqual([expect.stringMatching(/^proxy\.yaml:1:\d+: /)]);
  });

  test('that does not exist is rejected', () => {
    expect(optionsOf(['-c', 'gone.yaml'], { cwd })).toEqual(['--config: there is no file gone.yaml.']);
  });
});

describe('the environment', () => {
  test.each<[Record<string, string>, object]>([
    [
      { BATCHWISE__PROXY__MAX_BATCH_SIZE: '8', BATCHWISE__PROXY__TIMEOUT_USECS: '2000' },
      { methods: [{ method: '*/Compute', maxBatchSize: 8, maxWaitMs: 2 }] },
    ],
    [{ BATCHWISE__PROXY__FORWARDING_TARGET: 'a:1, b:2' }, { targets: ['a:1', 'b:2'] }],
    [{ BATCHWISE__PROXY__TARGETS: '[::1]:1' }, { targets: ['[::1]:1'] }],
    [
      { BATCHWISE__PROXY__METHODS: '*/Compute,/a.B/C=D' },
      { methods: [{ method: '*/Compute' }, { method: '/a.B/C', batched: 'D' }] },
    ],
    [
      { BATCHWISE__PROXY__GROUP_BY_BYTES: '64, 128' },
      { methods: [{ groupBy: { messageBytes: [64, 128] } }] },
    ],
    [{ BATCHWISE__PROXY__HEALTH_CHECK: 'off' }, { healthCheck: false }],
    [{ BATCHWISE__PROXY__ADMIN_PORT: 'none' }, { adminPort: false }],
    [{ BATCHWISE__PROXY__DRAIN_TIMEOUT: '' }, { adminPort: 50_050 }],
  ])('%j', (env, expected) => {
    expect(optionsOf([], { env })).toMatchObject(expected);
  });

  test.each<[Record<string, string>, string]>([
    [
      { BATCHWISE__PROXY__PORT: 'x' },
      'BATCHWISE__PROXY__PORT: expected a whole number from 0 to 65,535, got the string "x".',
    ],
    [
      { BATCHWISE__PROXY__PORTT: '1' },
      'BATCHWISE__PROXY__PORTT: unknown variable. Did you mean BATCHWISE__PROXY__PORT?',
    ],
    // The beginning was only known with a letter right behind it: what had none was passed over in silence.
    [{ BATCHWISE__PROXY____PROTO__: '1' }, 'BATCHWISE__PROXY____PROTO__: unknown variable.'],
    [{ BATCHWISE__PROXY__9: '1' }, 'BATCHWISE__PROXY__9: unknown variable.'],
    [{ BATCHWISE__PROXY__: '1' }, 'BATCHWISE__PROXY__: unknown variable.'],
    [{ BATCHWISE__PROXY: '1' }, 'BATCHWISE__PROXY: unknown variable.'],
    [{ BATCHWISE__PROXY__HELLO_WORLD: '1' }, 'BATCHWISE__PROXY__HELLO_WORLD: unknown variable.'],
    [
      { BATCHWISE_PROXY__MAX_WAIT_MS: '1' },
      'BATCHWISE_PROXY__MAX_WAIT_MS: unknown variable. Did you mean BATCHWISE__PROXY__MAX_WAIT_MS?',
    ],
    [
      { BATCHWISE__PROXY_MAX_WAIT_MS: '1' },
      'BATCHWISE__PROXY_MAX_WAIT_MS: unknown variable. Did you mean BATCHWISE__PROXY__MAX_WAIT_MS?',
    ],
    [
      { BATCHWISE__PROXY__MAX_WAIT_MS: '1', BATCHWISE__PROXY__TIMEOUT_USECS: '1' },
      'BATCHWISE__PROXY__TIMEOUT_USECS: the same setting as BATCHWISE__PROXY__MAX_WAIT_MS. Keep one.',
    ],
  ])('%j is rejected', (env, complaint) => {
    expect(optionsOf([], { env })).toEqual([complaint]);
  });

  test('ignores variables of the server and the platform', () => {
    const env = {
      BATCHWISE__SERVER__PORT: '1',
      BATCHWISE_CONFIG: 'gone.yaml',
      // As Kubernetes has it for a service that is called batchwise-proxy.
      BATCHWISE_PROXY_PORT: 'tcp://10.0.0.1:50049',
      BATCHWISE_PROXY_SERVICE_HOST: '10.0.0.1',
    };
    expect(optionsOf([], { env })).toEqual({ adminPort: 50_050, methods: [{ method: '*/Compute' }] });
  });
});

test('flag over environment over file', () => {
  const yaml = 'port: 1\nhost: 10.0.0.1\nmax_queue_size: 10\nmethods: [/a.B/C]\n';
  const env = { BATCHWISE__PROXY__PORT: '2', BATCHWISE__PROXY__HOST: '10.0.0.2' };
  expect(fromFile(yaml, ['--port', '3', '--method', '/d.E/F'], env)).toMatchObject({
    port: 3,
    host: '10.0.0.2',
    methods: [{ method: '/d.E/F', maxQueueSize: 10 }],
  });
});

test('an alias in a later source overrides the first', () => {
  expect(fromFile('timeout_usecs: 9000', [], { BATCHWISE__PROXY__MAX_WAIT_MS: '2' })).toMatchObject({
    methods: [{ maxWaitMs: 2 }],
  });
  expect(fromFile('max_wait_ms: 9', ['--timeout-usecs', '500'])).toMatchObject({
    methods: [{ maxWaitMs: 0.5 }],
  });
});

test('paths in a file start from its folder, those of flags from the working directory', () => {
  const yaml = 'tls_cert: sub/c.pem\ntls_key: k.pem\n';
  writeFileSync(join(cwd, 'tls.yaml'), yaml);
  expect(optionsOf(['-c', join(cwd, 'tls.yaml')])).toEqual([
    expect.stringContaining(`tls.yaml:1:1: there is no file ${join(cwd, 'sub/c.pem')}.`),
    expect.stringContaining(`tls.yaml:2:1: there is no file ${join(cwd, 'k.pem')}.`),
  ]);
  expect(optionsOf(['-c', join(cwd, 'tls.yaml'), '--tls-cert', 'gone.pem', '--tls-key', 'gone.key'])).toEqual(
    ['--tls-cert: there is no file gone.pem.', '--tls-key: there is no file gone.key.'],
  );
});

test('every key is unique', () => {
  const keys = PROXY_SETTINGS.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});

test('the documented defaults are the effective ones', () => {
  const documented = PROXY_SETTINGS.filter(({ default: text }) => !/ |^none$/.test(text));
  expect(documented.length).toBeGreaterThan(20);
  const options = fromFile(documented.map(({ key, default: text }) => `${key}: ${text}\n`).join(''));
  if (Array.isArray(options)) throw new Error(options.join('\n'));
  const { limits, log: _log, ...settings } = proxySettings(options);
  const { limits: _limits, log: _nowhere, ...expected } = proxySettings({ adminPort: 50_050 });
  expect(settings).toEqual(expected);
  expect({ ...DEFAULT_SERVER_LIMITS, ...limits }).toEqual(DEFAULT_SERVER_LIMITS);
});
