import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configJson, configText } from '../../src/config/config-report.js';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

test('every value has its origin, and origins are in line', () => {
  const loaded = folder.load(
    'models: [models/iris.onnx]\nrunners:\n  timeout: 10\n  iris:\n    batching:\n      max_latency_ms: 500\n',
    { env: { BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_BATCH_SIZE: '32' }, flags: { port: 8080 } },
  );
  expect(configText(loaded)).toBe(`# From batchwise.yaml.
server:
  host: 127.0.0.1              # default
  port: 8080                   # --port
  grpc_port: null              # default
  workers: 1                   # default
  shutdown_timeout: 30s        # default
  allowed_hosts: []            # default
  trusted_headers: []          # default
  limits:
    body_bytes: 4MiB           # default
    unanswered_bytes: 256MiB   # default
    header_bytes: 16KiB        # default
    connections: 10000         # default
    in_flight: unlimited       # default
    headers_timeout: 10s       # default
    receive_timeout: 1m        # default
    request_timeout: 5m        # default
    keep_alive_timeout: 65s    # default
models:                        # batchwise.yaml:1:1
  - models/iris.onnx
service: null                  # default
metrics:
  bentoml_names: false         # default
runners:
  # batchable: true for models served without code and for Python models, else false in a service
  batch_dim: [0, 0]            # default
  batching:
    enabled: true              # default
    max_batch_size: 64         # default
    target_latency_ms: 1000    # default
    max_wait_ms: null          # default
    max_queue_size: 10000      # default
    policy: adaptive           # default
    prefer: latency            # default
    batch_sizes: []            # default
  isolate: true                # default
  concurrency: 1               # default
  replicas: 1                  # default
  python: null                 # default
  resources:
    cpu: null                  # default
    gpu: []                    # default
  redis:
    queue: null                # default
    url: null                  # default
    max_backlog: 10000         # default
    payload: null              # default
  upstream:
    url: []                    # default
    model: null                # default
    version: null              # default
    format: binary             # default
    connections: 16            # default
    start_timeout: 1m          # default
    retries: 1                 # default
    max_failures: 5            # default
    cooldown: 1s               # default
    health_interval: 5s        # default
    ca_file: null              # default
    cert_file: null            # default
    key_file: null             # default
    server_name: null          # default
  timeout: 10s                 # batchwise.yaml:3:3
  warmup: 3                    # default
  iris:
    batchable: true            # default
    batch_dim: [0, 0]          # default
    batching:
      enabled: true            # default
      max_batch_size: 32       # BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_BATCH_SIZE
      target_latency_ms: 500   # batchwise.yaml:6:7
      max_wait_ms: null        # default
      max_queue_size: 10000    # default
      policy: adaptive         # default
      prefer: latency          # default
      batch_sizes: []          # default
    isolate: true              # default
    concurrency: 1             # default
    replicas: 1                # default
    python: null               # default
    resources:
      cpu: null                # default
      gpu: []                  # default
    redis:
      queue: null              # default
      url: null                # default
      max_backlog: 10000       # default
      payload: null            # default
    upstream:
      url: []                  # default
      model: null              # default
      version: null            # default
      format: binary           # default
      connections: 16          # default
      start_timeout: 1m        # default
      retries: 1               # default
      max_failures: 5          # default
      cooldown: 1s             # default
      health_interval: 5s      # default
      ca_file: null            # default
      cert_file: null          # default
      key_file: null           # default
      server_name: null        # default
    timeout: 10s               # batchwise.yaml:3:3
    warmup: 3                  # default
`);
});

test('of a runner in a service it is said that its code may say more', () => {
  const text = configText(folder.load('service: s.ts\nrunners: {iris: {warmup: 1}}'));
  const iris = text.slice(text.indexOf('\n  iris:\n'));
  expect(iris).toMatch(/\n {4}# batchable: /);
  expect(iris).toMatch(/\n {4}concurrency: 1 +# default, or the service's code\n/);
  expect(iris).toMatch(/\n {4}warmup: 1 +# batchwise\.yaml:2:18\n/);
});

test('only the comments are faint', () => {
  const plain = configText(folder.load(''));
  const faint = configText(folder.load(''), (text) => `<${text}>`);
  expect(faint).toContain('port: 3000');
  expect(faint.replaceAll(/<(#[^>]*)>/g, '$1')).toBe(plain);
});

test('as JSON it has the words of the file, and origins by path', () => {
  const loaded = folder.load('models: [{name: a.b, path: m.onnx}]\nrunners: {timeout: unlimited}');
  const { file, settings, origins } = JSON.parse(JSON.stringify(configJson(loaded)));
  expect(file).toBe('batchwise.yaml');
  expect(settings.server).toMatchObject({ port: 3000, grpc_port: null, limits: { body_bytes: '4MiB' } });
  expect(settings.models).toEqual([{ name: 'a.b', path: 'm.onnx' }]);
  expect(settings.runners['a.b']).toMatchObject({ batchable: true, timeout: 'unlimited' });
  expect(settings.runners).not.toHaveProperty('batchable');
  expect(origins['runners["a.b"].timeout']).toBe('batchwise.yaml:2:11');
  expect(origins['server.port']).toBe('default');
});

const runner = fc.record(
  {
    batchable: fc.boolean(),
    batch_dim: fc.constantFrom(0, [0, 1], [2, 0]),
    batching: fc.record(
      {
        enabled: fc.boolean(),
        max_batch_size: fc.integer({ min: 1, max: 1_000_000 }),
        target_latency_ms: fc.constantFrom(1, 0.5e3, 'unlimited', 1234.5),
        max_wait_ms: fc.constantFrom(null, 0, 2.5),
        max_queue_size: fc.constantFrom(1, -1, 'unlimited', 500),
        policy: fc.constantFrom('adaptive', 'greedy', 'window'),
        batch_sizes: fc.constantFrom([], [1], [1, 2, 4]),
      },
      { requiredKeys: [] },
    ),
    resources: fc.record(
      { cpu: fc.constantFrom(null, 1, 8), gpu: fc.constantFrom(0, 2, [1, 3]) },
      { requiredKeys: [] },
    ),
    timeout: fc.constantFrom(1, 0.25, '90s', 'unlimited'),
  },
  { requiredKeys: [] },
);
const GLOBAL = new Set(['traffic', 'batching', 'resources', 'timeout', 'warmup']);
const name = fc
  .oneof(
    fc.constantFrom('iris', 'null', '__proto__', 'a.b', '1', '<<', 'x: y', '# a'),
    fc.string({ minLength: 1 }),
  )
  .filter((text) => !GLOBAL.has(text));
const path = fc.constantFrom(
  'a.onnx',
  'm/b c.onnx',
  '/abs/#1.onnx',
  'null',
  './x: y.onnx',
  '"q".onnx',
  '- z',
);

test('what is printed gives the same settings when it is read', () => {
  fc.assert(
    fc.property(
      fc.record({
        models: fc
          .array(path, { maxLength: 3 })
          .map((paths) => paths.map((text, i) => ({ name: `m${i}`, path: text }))),
        server: fc.record(
          { host: fc.constantFrom('::1', '0.0.0.0', 'null', '1'), grpc_port: fc.constantFrom(null, 0, 4000) },
          { requiredKeys: [] },
        ),
        all: runner,
        named: fc.dictionary(name, runner, { maxKeys: 3 }),
      }),
      ({ models, server, all, named }) => {
        const { named: _, ...rest } = { models, server, named };
        const runners = Object.fromEntries([...Object.entries(named), ...Object.entries(all)]);
        const before = folder.load(JSON.stringify({ ...rest, runners }));
        const after = folder.load(configText(before));
        for (const part of ['server', 'models', 'service', 'metrics'] as const)
          expect(after.settings[part]).toEqual(before.settings[part]);
        const names = [
          ...models.map((model) => model.name),
          ...before.settings.runners.byName.keys(),
          'another',
        ];
        for (const each of names) {
          const isModel = each.startsWith('m');
          expect(resolveRunner(after.settings, each, { isBatchable: isModel })).toEqual(
            resolveRunner(before.settings, each, { isBatchable: isModel }),
          );
        }
      },
    ),
    { numRuns: 30 },
  );
});
