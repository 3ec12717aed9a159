import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/config/config-error.js';
import { loadConfig } from '../../src/config/load-config.js';
import { ConfigFolder, complaintsOf } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

describe('in the file', () => {
  test.each<[string, string[]]>([
    ['sever: {}', ['1:1: sever: unknown key. Did you mean server?']],
    ['port: 80', ['1:1: port: unknown key. Did you mean server.port?']],
    ['colour: red', ['1:1: colour: unknown key. There are server, models, service, metrics, runners.']],
    ['server:\n  prot: 80', ['2:3: server.prot: unknown key. Did you mean port?']],
    [
      'server:\n  maxConnections: 80',
      ['2:3: server.maxConnections: unknown key. Did you mean limits.connections?'],
    ],
    [
      'server:\n  port: http',
      ['2:9: server.port: expected a whole number from 0 to 65,535, got the string "http".'],
    ],
    ['server:\n  port: 70000', ['2:9: server.port: expected a whole number from 0 to 65,535, got 70000.']],
    ['server:\n  port:', ['2:8: server.port: expected a whole number from 0 to 65,535, got nothing.']],
    [
      'server: 3000',
      [
        '1:9: server: expected a map with host, port, grpc_port, workers, shutdown_timeout, allowed_hosts, trusted_headers, limits, got 3000.',
      ],
    ],
    ['- a\n- b', ['1:1: expected a map with server, models, service, metrics, runners, got a list of 2.']],
    [
      'hello',
      ['1:1: expected a map with server, models, service, metrics, runners, got the string "hello".'],
    ],
    [
      'server: {limits: {body_bytes: 64 parsecs}}',
      [
        '1:31: server.limits.body_bytes: expected bytes, or a text such as 64MB or 64MiB, from 1B to 2GiB, got the string "64 parsecs".',
      ],
    ],
    [
      'server: {shutdown_timeout: soon}',
      [
        '1:28: server.shutdown_timeout: expected seconds, or a text such as 500ms, 2s, 1m, from 0ms to 24h, got the string "soon".',
      ],
    ],
    [
      'server: {port: 80, grpc_port: 80}',
      ['1:20: server.grpc_port: expected a port other than that of HTTP, got 80 for both.'],
    ],
    [
      'server: {limits: {body_bytes: 129MiB}}',
      [
        '1:19: server.limits.body_bytes: expected body_bytes to be at most half of unanswered_bytes, got 129MiB and 256MiB.',
      ],
    ],
    [
      'server: {limits: {unanswered_bytes: 7MiB}}',
      [
        '1:19: server.limits.unanswered_bytes: expected body_bytes to be at most half of unanswered_bytes, got 4MiB and 7MiB.',
      ],
    ],
    [
      'server: {limits: {headers_timeout: 2m}}',
      [
        '1:19: server.limits.headers_timeout: expected headers_timeout to be at most receive_timeout, got 2m and 1m.',
      ],
    ],
    [
      'server: {limits: {receive_timeout: 1}}',
      [
        '1:19: server.limits.receive_timeout: expected headers_timeout to be at most receive_timeout, got 10s and 1s.',
      ],
    ],
    [
      'runners:\n  iris:\n    batching:\n      max_batchsize: 8',
      ['4:7: runners.iris.batching.max_batchsize: unknown key. Did you mean max_batch_size?'],
    ],
    [
      'runners: {iris: {max_batch_size: 8}}',
      ['1:18: runners.iris.max_batch_size: unknown key. Did you mean batching.max_batch_size?'],
    ],
    ['runners: {batchng: {enabled: true}}', ['1:11: runners.batchng: unknown key. Did you mean batching?']],
    [
      'runners: {timeuot: 5}',
      [
        '1:20: runners.timeuot: expected a map with the settings of a runner of that name, got 5. Did you mean timeout?',
      ],
    ],
    [
      'runners: {iris: true}',
      ['1:17: runners.iris: expected a map with the settings of a runner of that name, got true.'],
    ],
    [
      'runners: {"my.model": {warmup: -1}}',
      ['1:32: runners["my.model"].warmup: expected a whole number from 0 to 1,000, got -1.'],
    ],
    [
      'runners: {batching: {policy: eager}}',
      ['1:30: runners.batching.policy: expected adaptive, greedy or window, got the string "eager".'],
    ],
    [
      'runners: {batching: {max_batch_size: "32"}}',
      [
        '1:38: runners.batching.max_batch_size: expected a whole number from 1 to 1,000,000, got the string "32".',
      ],
    ],
    [
      'runners: {batching: {batch_sizes: [1, 4, 2]}}',
      ['1:42: runners.batching.batch_sizes[2]: expected a number above the previous one, 4, got 2.'],
    ],
    [
      'runners: {batching: {target_latency_ms: .nan}}',
      [
        '1:41: runners.batching.target_latency_ms: expected milliseconds from 1 to 86,400,000, or unlimited, got NaN.',
      ],
    ],
    [
      'models: digits.onnx',
      [
        '1:9: models: expected a list of paths of models, or of maps with name and path, got the string "digits.onnx".',
      ],
    ],
    [
      'models:\n  - 5\n  - {pth: a.onnx}\n  - a.onnx\n  - b/a.onnx\n  - {name: x/y, path: c.onnx}',
      [
        '2:5: models[0]: expected the path of a model, or a map with name and path, got 5.',
        '3:5: models[1]: expected the path of a model, got nothing.',
        '3:6: models[1].pth: unknown key. Did you mean path?',
        '5:5: models[3]: models[2] has the same name, a. Give one of them another name: {name: …, path: …}.',
        '6:12: models[4].name: expected a name of at most 200 characters without a slash, got the string "x/y".',
      ],
    ],
    [
      'server: {trusted_headers: [priority, prority]}',
      [
        '1:38: server.trusted_headers[1]: expected a list of any of priority, tenant, got the string "prority".',
      ],
    ],
    [
      'server: {allowed_hosts: [a.example, "b.example:80", 5]}',
      [
        '1:37: server.allowed_hosts[1]: expected a list of host names without ports, or *, got the string "b.example:80".',
      ],
    ],
    [
      'server: {trusted_headers: [tenant, tenant]}',
      ['1:36: server.trusted_headers[1]: expected each value once, got the string "tenant".'],
    ],
    ['server: {port: 1}\nserver: {port: 2}', ['2:1: duplicate key server, first at 1:1.']],
    ['server:\n  port: 1\n  port: 2', ['3:3: server: duplicate key port, first at 2:3.']],
    ['? [a]\n: b', ['1:3: expected a key that is a single word.']],
    ['a: [1', ['1:6: Flow sequence in block collection must be sufficiently indented and end with a ].']],
    ['server:\n\tport: 1', ['2:1: Tabs are not allowed as indentation.']],
    ['server: {port: 1}\n---\nserver: {port: 2}', ['2:1: expected one document, a second one begins here.']],
    ['server: *nope', ['1:9: *nope: expected an anchor &nope before the alias, got none.']],
    ['server: !!js/function "x"', ['1:9: Unresolved tag: tag:yaml.org,2002:js/function.']],
    [
      'server: {port: x, workers: 0}\nmetrics: {bentoml_names: 1}\nhost: a',
      [
        '1:16: server.port: expected a whole number from 0 to 65,535, got the string "x".',
        '1:28: server.workers: expected a whole number from 1 to 256, got 0.',
        '2:26: metrics.bentoml_names: expected true or false, got 1.',
        '3:1: host: unknown key. Did you mean server.host?',
      ],
    ],
  ])('%j', (text, complaints) => {
    expect(folder.complaints(text)).toEqual(complaints.map((complaint) => `batchwise.yaml:${complaint}`));
  });

  test('every complaint has its place, for programs', () => {
    expect.assertions(2);
    try {
      folder.load('server:\n  prot: 1\n  host: 2\n');
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).problems).toEqual([
        {
          origin: { kind: 'file', file: 'batchwise.yaml', line: 2, column: 3 },
          path: 'server.prot',
          message: 'unknown key. Did you mean port?',
        },
        {
          origin: { kind: 'file', file: 'batchwise.yaml', line: 3, column: 9 },
          path: 'server.host',
          message: 'expected an address or a host name, got 2.',
        },
      ]);
    }
  });
});

describe('of the file', () => {
  const withFile = (file: string) => complaintsOf(() => loadConfig({ cwd: folder.path, file }));

  test('that is not there', () => {
    expect(withFile('nope.yaml')).toEqual(['--config: there is no file nope.yaml.']);
    expect(withFile('')).toEqual(['--config: expected the name of a file, got an empty one.']);
    expect(
      complaintsOf(() => loadConfig({ cwd: folder.path, env: { BATCHWISE_CONFIG: 'nope.yaml' } })),
    ).toEqual(['BATCHWISE_CONFIG: there is no file nope.yaml.']);
  });

  test('that is a folder, or below a file', () => {
    mkdirSync(join(folder.path, 'sub'));
    folder.write('plain', '');
    expect(withFile('sub')).toEqual(['--config: sub is a folder, expected a file.']);
    expect(withFile('plain/x.yaml')).toEqual([
      '--config: there is no file plain/x.yaml: a part of its path is not a folder.',
    ]);
  });

  test.skipIf(process.getuid?.() === 0)('that may not be read', () => {
    chmodSync(join(folder.path, folder.write('secret.yaml', '')), 0);
    expect(withFile('secret.yaml')).toEqual(['--config: secret.yamlpermission to read  denied.']);
  });

  test('that is no text, or far too long', () => {
    folder.write('binary.yaml', new Uint8Array([0xff, 0xfe, 0x00, 0xd8]));
    folder.write('long.yaml', '#'.repeat(2 ** 20 + 1));
    expect(withFile('binary.yaml')).toEqual(['--config: binary.yaml is not UTF-8 text.']);
    expect(withFile('long.yaml')).toEqual([
      '--config: long.yaml is larger than 1 MiB, the limit of a configuration file.',
    ]);
  });

  test('a name that nobody gave is told without who gave it', () => {
    const other = new ConfigFolder();
    try {
      mkdirSync(join(other.path, 'batchwise.yaml'));
      expect(complaintsOf(() => loadConfig({ cwd: other.path }))).toEqual([
        'batchwise.yaml is a folder, expected a file.',
      ]);
    } finally {
      other.remove();
    }
  });
});

describe('in the environment', () => {
  test.each<[Record<string, string>, string[]]>([
    [
      { BATCHWISE__SERVER__PROT: '1' },
      ['BATCHWISE__SERVER__PROT: unknown variable. Did you mean BATCHWISE__SERVER__PORT?'],
    ],
    [{ BATCHWISE__PORT: '1' }, ['BATCHWISE__PORT: unknown variable. Did you mean BATCHWISE__SERVER__PORT?']],
    [
      { BATCHWISE__COLOUR: '1' },
      [
        'BATCHWISE__COLOUR: unknown variable. There are BATCHWISE__SERVER, BATCHWISE__MODELS, BATCHWISE__SERVICE, BATCHWISE__METRICS, BATCHWISE__RUNNERS.',
      ],
    ],
    [
      { BATCHWISE__SERVER: '1' },
      [
        'BATCHWISE__SERVER: it names a section, expected one of its settings, such as BATCHWISE__SERVER__HOST.',
      ],
    ],
    [
      { BATCHWISE__RUNNERS__IRIS: '1' },
      [
        'BATCHWISE__RUNNERS__IRIS: it names a section, expected one of its settings, such as BATCHWISE__RUNNERS__IRIS__BATCHABLE.',
      ],
    ],
    [
      { BATCHWISE__RUNNERS__IRIS__MAX_BATCH_SIZE: '1' },
      [
        'BATCHWISE__RUNNERS__IRIS__MAX_BATCH_SIZE: unknown variable. Did you mean BATCHWISE__RUNNERS__IRIS__BATCHING__MAX_BATCH_SIZE?',
      ],
    ],
    [
      { BATCHWISE__SERVER__PORT__NUMBER: '1' },
      ['BATCHWISE__SERVER__PORT__NUMBER: unknown variable. Did you mean BATCHWISE__SERVER__PORT?'],
    ],
    [
      { BATCHWISE_SERVER__PORT: '1' },
      ['BATCHWISE_SERVER__PORT: unknown variable. Did you mean BATCHWISE__SERVER__PORT?'],
    ],
    [
      { BATCHWISE__API_SERVER__PORT: '1' },
      [
        'BATCHWISE__API_SERVER__PORT: a key of BentoML: use server: server.host, server.port, server.workers, server.limits.',
      ],
    ],
    [
      { BATCHWISE__SERVER__PORT: 'http' },
      ['BATCHWISE__SERVER__PORT: expected a whole number from 0 to 65,535, got the string "http".'],
    ],
    [
      { BATCHWISE__SERVER__PORT: '[1' },
      ['BATCHWISE__SERVER__PORT: expected a whole number from 0 to 65,535, got the string "[1".'],
    ],
    [
      { BATCHWISE__RUNNERS__BATCHING__BATCH_SIZES: '1,1' },
      ['BATCHWISE__RUNNERS__BATCHING__BATCH_SIZES: [1]: expected a number above the previous one, 1, got 1.'],
    ],
    [
      { BATCHWISE__RUNNERS__TIMEOUT: '5', BATCHWISE__RUNNERS__TRAFFIC__TIMEOUT: '6' },
      [
        'BATCHWISE__RUNNERS__TRAFFIC__TIMEOUT: the same setting as BATCHWISE__RUNNERS__TIMEOUT: both are runners.timeout. Keep one.',
      ],
    ],
  ])('%j', (env, complaints) => expect(folder.complaints('', { env })).toEqual(complaints));

  test('what the platform sets by itself is let be', () => {
    const env = {
      BATCHWISE_SERVICE_HOST: '10.0.0.1',
      BATCHWISE_PORT: 'tcp://10.0.0.1:80',
      BATCHWISE_SERVER_PORT: '80',
      BATCHWISE_DEBUG: '1',
      HOME: '/',
    };
    expect(folder.complaints('', { env })).toEqual([]);
  });
});

test('flags are told by their names', () => {
  expect(
    folder.complaints('', { flags: { port: 1e9, host: '', models: [{ name: 'a', path: '' }] } }),
  ).toEqual([
    '--host: expected an address or a host name, got the string "".',
    '--port: expected a whole number from 0 to 65,535, got 1000000000.',
    'command line: models[0].path: expected the path of a model, got the string "".',
  ]);
});

test('all that is wrong anywhere is told at once', () => {
  expect(
    folder.complaints('server: {prot: 1}', {
      env: { BATCHWISE__X: '1', BATCHWISE__Y: '' },
      flags: { workers: 0 },
    }),
  ).toEqual([
    'batchwise.yaml:1:10: server.prot: unknown key. Did you mean port?',
    expect.stringMatching(/^BATCHWISE__X: unknown variable\./),
    '--workers: expected a whole number from 1 to 256, got 0.',
  ]);
});
