import { describe, expect, test } from 'vitest';
import { optionsOf } from './support/proxy-options.js';

const YAIS = {
  adminPort: 50_050,
  targets: ['localhost:50051'],
  maxBatchesInFlight: 1,
  methods: [{ method: '*/Compute', maxBatchSize: 8, maxWaitMs: 2 }],
};

describe('the flags of YAIS', () => {
  test('give the window policy', () => {
    const flags = '--max-batch-size 8 --timeout-usecs 2000 --max-batches-in-flight 1';
    const target = '--forwarding-target localhost:50051';
    expect(optionsOf([...flags.split(' '), ...target.split(' ')])).toEqual(YAIS);
  });

  test('may have underscores, as in YAIS', () => {
    const flags =
      '--max_batch_size=8 --timeout_usecs=2000 --max_batches_in_flight=1 --forwarding_target=localhost:50051';
    expect(optionsOf(flags.split(' '))).toEqual(YAIS);
    expect(optionsOf(['--max_batch_size', '8', '--timeout_usecs', '2000'])).toMatchObject({
      methods: YAIS.methods,
    });
  });

  test('a value keeps its underscores', () => {
    expect(
      optionsOf(['--method', '/my_app.Iris_V2/Get_It=Get_All', '--backend_server_name=my_host']),
    ).toEqual({
      adminPort: 50_050,
      methods: [{ method: '/my_app.Iris_V2/Get_It', batched: 'Get_All' }],
      backendTls: { serverName: 'my_host' },
    });
  });
});

test('default: the adaptive policy for Compute of any service', () => {
  expect(optionsOf([])).toEqual({ adminPort: 50_050, methods: [{ method: '*/Compute' }] });
});

test.each<[string[], object]>([
  [['--target-latency-ms', '50'], { methods: [{ method: '*/Compute', targetLatencyMs: 50 }] }],
  [['--max-wait-ms', '0.5'], { methods: [{ method: '*/Compute', maxWaitMs: 0.5 }] }],
  [['--timeout-usecs', '0'], { methods: [{ method: '*/Compute', maxWaitMs: 0 }] }],
  [['--tenant-by', 'metadata:x-tenant'], { tenantBy: 'metadata:x-tenant' }],
  [['--timeout-ms', '200'], { methods: [{ method: '*/Compute', timeoutMs: 200 }] }],
  [['--max-queue-size', '100'], { methods: [{ method: '*/Compute', maxQueueSize: 100 }] }],
  [
    ['--method', '*/Compute', '--method=/a.B/C=D', '--method', '/a.B/E=/x.Y/Z', '--max-batch-size', '3'],
    {
      methods: [
        { method: '*/Compute', maxBatchSize: 3 },
        { method: '/a.B/C', batched: 'D', maxBatchSize: 3 },
        { method: '/a.B/E', batched: '/x.Y/Z', maxBatchSize: 3 },
      ],
    },
  ],
  [
    [
      '--group-by-metadata',
      'authorization',
      '--group-by-metadata',
      'tenant',
      '--group-by-bytes',
      '64,256,1024',
    ],
    {
      methods: [
        {
          method: '*/Compute',
          groupBy: { metadata: ['authorization', 'tenant'], messageBytes: [64, 256, 1024] },
        },
      ],
    },
  ],
  [
    ['--group-by-bytes', '64', '--group-by-bytes', '128'],
    { methods: [{ groupBy: { messageBytes: [64, 128] } }] },
  ],
  [['--group-by-metadata', ''], { methods: [{ groupBy: { metadata: [] } }] }],
  [
    ['--target', 'a:1', '--forwarding-target', '[::1]:2,unix:/run/b.sock', '--target=dns:///models:3'],
    { targets: ['a:1', '[::1]:2', 'unix:/run/b.sock', 'dns:///models:3'] },
  ],
  [['--host', '0.0.0.0', '--port', '0'], { host: '0.0.0.0', port: 0 }],
  [['--backend-tls'], { backendTls: true }],
  [['--backend-server-name', 'model.internal'], { backendTls: { serverName: 'model.internal' } }],
  [['--health', 'pass'], { health: 'pass' }],
  [['--max-message-bytes', '16MiB'], { maxMessageBytes: 16 * 2 ** 20 }],
  [['--max-message-bytes', '1000'], { maxMessageBytes: 1000 }],
  [['--drain-timeout', '1m'], { drainTimeoutMs: 60_000 }],
  [['--drain-timeout', '5'], { drainTimeoutMs: 5000 }],
  [['--admin-port', '9090', '--admin-host', '0.0.0.0'], { adminPort: 9090, adminHost: '0.0.0.0' }],
  [['--no-admin'], { adminPort: false }],
])('%s', (args, expected) => {
  expect(optionsOf(args)).toMatchObject(expected);
});

describe('an invalid value is rejected with the expected one', () => {
  test.each<[string[], RegExp]>([
    [
      ['--max-batch-size', '0'],
      /'--max-batch-size <count>' argument '0' is invalid\. Expected a whole number from 1 to 65,536, got 0/,
    ],
    [['--max-batch-size', '8x'], /Expected a whole number .*, got the string "8x"/],
    [['--timeout-usecs', '1.5'], /Expected microseconds, a whole number from 0 to 86,400,000,000, got 1\.5/],
    [['--timeout-usecs', '-1'], /Expected microseconds/],
    [['--max-batches-in-flight', '0'], /Expected a whole number from 1 to 10,000/],
    [['--port', '65536'], /Expected a whole number from 0 to 65,535/],
    [['--admin-port', 'many'], /Expected a port from 0 to 65,535, or none, got the string "many"/],
    [['--health', 'yes'], /Expected answer or pass/],
    [['--drain-timeout', 'soon'], /Expected seconds, or a text such as 500ms/],
    [['--group-by-bytes', '64,32'], /Expected a number above the previous one, 64, got 32/],
    [['--group-by-metadata', 'Authorization'], /Expected a metadata key in lower case/],
    [['--group-by-metadata', 'grpc-timeout'], /Expected a metadata key/],
    [
      ['--target', 'localhost'],
      /Expected host:port, .*, got the string "localhost"\. Did you mean localhost:50051\?/,
    ],
    [['--target', 'grpc://models:9000/'], /Did you mean models:9000\?/],
    [['--target', 'models:99999'], /Expected host:port/],
    [['--target', 'a:1', '--target', 'a:1'], /Expected each once, got the string "a:1"/],
    [['--method', 'iris.Classifier/Classify'], /Did you mean \/iris\.Classifier\/Classify\?/],
    [['--method', 'iris.Classifier.Classify'], /Did you mean \/iris\.Classifier\/Classify\?/],
    [['--method', '/iris.Classifier/Classify='], /Expected the name of a method, such as BatchedCompute/],
    [['--method', '*'], /Expected \/package\.Service\/Method, or \*\/Method for any service/],
    [['--method', '/a.B/C', '--method', '/a.B/C=D'], /Expected each method once, got the string "\/a\.B\/C"/],
    [['--max-batchsize', '8'], /unknown option '--max-batchsize'/],
    [
      ['--timeout-usecs', '5', '--max-wait-ms', '5'],
      /'--timeout-usecs <µs>' cannot be used with .*--max-wait-ms/,
    ],
  ])('%s', (args, message) => {
    expect(optionsOf(args)).toEqual([expect.stringMatching(message)]);
  });
});

describe('settings that exclude each other', () => {
  test.each<[string[], string]>([
    [['--tls-cert', 'c.pem'], '--tls-cert: requires --tls-key.'],
    [['--tls-key', 'k.pem'], '--tls-key: requires --tls-cert.'],
    [['--tls-client-ca', 'ca.pem'], '--tls-client-ca: requires --tls-cert.'],
    [['--backend-cert', 'c.pem'], '--backend-cert: requires --backend-key.'],
    [['--port', '50050'], '--port: expected different ports for HTTP and gRPC, got 50050 for both.'],
    [
      ['--admin-port', '50049'],
      '--admin-port: expected different ports for HTTP and gRPC, got 50049 for both.',
    ],
  ])('%s', (args, message) => {
    expect(optionsOf(args)).toEqual([message]);
  });

  test('two free ports do not', () => {
    expect(optionsOf(['--port', '0', '--admin-port', '0'])).toMatchObject({ port: 0, adminPort: 0 });
  });
});
