import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { variableOf } from '../../src/config/environment-settings.js';
import { httpLimitsOf } from '../../src/config/http-limits-of.js';
import { loadConfig } from '../../src/config/load-config.js';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { DEFAULT_HTTP_LIMITS, validHttpLimits } from '../../src/http/http-limits.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

test('without a file there are the defaults', () => {
  const empty = new ConfigFolder();
  try {
    const { settings, origins, file } = loadConfig({ cwd: empty.path });
    expect(file).toBe(undefined);
    expect(settings).toEqual({
      server: {
        host: '127.0.0.1',
        port: 3000,
        grpcPort: undefined,
        workers: 1,
        shutdownTimeoutMs: 30_000,
        allowedHosts: [],
        trustedHeaders: [],
        limits: {
          bodyBytes: 4_194_304,
          unansweredBytes: 268_435_456,
          headerBytes: 16_384,
          connections: 10_000,
          inFlight: Number.POSITIVE_INFINITY,
          headersTimeoutMs: 10_000,
          receiveTimeoutMs: 60_000,
          requestTimeoutMs: 300_000,
          keepAliveTimeoutMs: 65_000,
        },
      },
      models: [],
      service: undefined,
      metrics: { bentomlNames: false },
      runners: { all: {}, byName: new Map() },
    });
    expect(new Set([...origins.values()].map(({ kind }) => kind))).toEqual(new Set(['default']));
    expect(origins.has('runners.batching.max_batch_size')).toBe(true);
  } finally {
    empty.remove();
  }
});

describe('the file', () => {
  test('is the flag, else the variable, else batchwise.yaml', () => {
    folder.write('a.yaml', 'server: {port: 1}');
    folder.write('b.yaml', 'server: {port: 2}');
    const text = 'server: {port: 3}';
    const env = { BATCHWISE_CONFIG: 'b.yaml' };
    const port = (options: object) => folder.load(text, options).settings.server.port;
    expect([
      port({ file: 'a.yaml', env }),
      port({ env }),
      port({}),
      port({ env: { BATCHWISE_CONFIG: '' } }),
    ]).toEqual([1, 2, 3, 3]);
    expect(folder.load(text, { env }).file).toBe('b.yaml');
  });

  test('names paths from where it is', () => {
    mkdirSync(join(folder.path, 'conf'));
    const file = folder.write('conf/my.yaml', 'models: [../m/a.onnx, /abs/b.onnx]\nservice: service.ts');
    const { settings } = folder.load('', { file });
    expect(settings.models.map(({ path }) => path)).toEqual(['m/a.onnx', '/abs/b.onnx']);
    expect(settings.service).toBe('conf/service.ts');
    expect(folder.load('models: [m/a.onnx]').settings.models[0]?.path).toBe('m/a.onnx');
  });
});

test('models of the command line go in the place of those of the file', () => {
  const { settings, origins } = folder.load('models: [a.onnx]\nservice: s.ts', {
    flags: { models: ['b.onnx', { name: 'c', path: 'd.onnx' }] },
  });
  expect(settings.models).toEqual([
    { name: 'b', path: 'b.onnx' },
    { name: 'c', path: 'd.onnx' },
  ]);
  expect(settings.service).toBe('s.ts');
  expect(origins.get('models')).toEqual({ kind: 'flag', flag: 'command line' });
});

/** A setting that may come from anywhere: from none or all of flag, environment and file. */
const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });

test('flags go over the environment, that over the file, that over defaults', () => {
  fc.assert(
    fc.property(port, port, port, (flag, variable, written) => {
      const { settings, origins } = folder.load(written === undefined ? '' : `server:\n  port: ${written}`, {
        env: variable === undefined ? {} : { BATCHWISE__SERVER__PORT: String(variable) },
        flags: { port: flag },
      });
      expect(settings.server.port).toBe(flag ?? variable ?? written ?? 3000);
      const kinds = [flag && 'flag', variable && 'environment', written && 'file', 'default'];
      expect(origins.get('server.port')?.kind).toBe(kinds.find((kind) => kind !== undefined));
    }),
  );
});

const size = fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined });

test('what is set for one runner goes over what is set for all, wherever either comes from', () => {
  fc.assert(
    fc.property(
      fc.record({ oneEnv: size, oneFile: size, allEnv: size, allFile: size, code: size }),
      ({ oneEnv, oneFile, allEnv, allFile, code }) => {
        const lines = [
          'runners:',
          allFile === undefined ? '' : `  batching: {max_batch_size: ${allFile}}`,
          oneFile === undefined ? '' : `  Iris: {batching: {max_batch_size: ${oneFile}}}`,
        ];
        const env = Object.fromEntries(
          [
            [variableOf(['runners', 'Iris', 'batching', 'max_batch_size']), oneEnv],
            [variableOf(['runners', 'batching', 'max_batch_size']), allEnv],
          ].flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
        );
        const { settings } = folder.load(lines.join('\n'), { env, runnerNames: ['Iris', 'other'] });
        const options = {
          isBatchable: false,
          code: code === undefined ? {} : { batching: { maxBatchSize: code } },
        };
        const { batching } = resolveRunner(settings, 'Iris', options);
        expect(batching.maxBatchSize).toBe(oneEnv ?? oneFile ?? allEnv ?? allFile ?? code ?? 64);
        const other = resolveRunner(settings, 'other', { isBatchable: false }).batching;
        expect(other.maxBatchSize).toBe(allEnv ?? allFile ?? 64);
        expect(batching.targetLatencyMs).toBe(1000);
      },
    ),
  );
});

describe('limits in the words of the transport', () => {
  test('the defaults are its defaults', () => {
    expect(httpLimitsOf(folder.load('').settings.server.limits)).toEqual(DEFAULT_HTTP_LIMITS);
  });

  test('what has no end is 0, and milliseconds are whole', () => {
    const { limits } = folder.load(
      'server: {limits: {connections: unlimited, in_flight: 5, headers_timeout: 0.1234567, receive_timeout: unlimited}}',
    ).settings.server;
    const transport = validHttpLimits(httpLimitsOf(limits));
    expect(transport).toMatchObject({
      maxConnections: 0,
      maxInFlight: 5,
      headersTimeoutMs: 124,
      receiveTimeoutMs: 0,
    });
  });
});
