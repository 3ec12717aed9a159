/** Python models among the planned runners. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConfigFlags } from '../src/config/config-flags.js';
import { loadConfig } from '../src/config/load-config.js';
import type { ServerSettings } from '../src/config/server-settings.js';
import { checkModelFiles, needsProcesses, planRunners, pythonFiles } from '../src/planned-runner.js';
import { pythonReference } from '../src/python-reference.js';
import { defineService } from '../src/service/define-service.js';
import { fn } from '../src/service/fn.js';
import { python } from '../src/service/python.js';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-plan-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function settingsOf(yaml: string, flags: ConfigFlags = {}): ServerSettings {
  writeFileSync(join(folder, 'batchwise.yaml'), yaml);
  return loadConfig({ cwd: folder, flags }).settings;
}

test('a reference is a Python file, and possibly a name in it', () => {
  expect(pythonReference('a/model.py')).toEqual({ file: 'a/model.py', object: undefined });
  expect(pythonReference('model.py:Größe_2')).toEqual({ file: 'model.py', object: 'Größe_2' });
  for (const other of ['model.onnx', 'model.pyc', 'model.py:', 'model.py:2', 'grpc://host/model.python'])
    expect(pythonReference(other)).toBeUndefined();
});

describe('models of the settings', () => {
  test('that are Python files are Python models, in one runner process each', () => {
    const settings = settingsOf(
      'models: [iris.onnx, {name: small, path: "sub/text.py:Small"}]\nrunners: {replicas: 2, python: .venv}',
      { models: ['/models/text.py'] },
    );
    expect(planRunners(settings, undefined)).toMatchObject([
      { name: 'text', source: { kind: 'python', path: '/models/text.py', object: undefined } },
    ]);
    const [onnx, small] = planRunners(
      settingsOf(
        'models: [iris.onnx, {name: small, path: "sub/text.py:Small"}]\nrunners: {replicas: 2, python: .venv}',
      ),
      undefined,
    );
    expect(onnx).toMatchObject({ source: { kind: 'onnx' }, settings: { replicas: 2 } });
    expect(small).toMatchObject({
      name: 'small',
      source: { kind: 'python', path: 'sub/text.py', object: 'Small' },
      settings: { batchable: true, replicas: 2, python: '.venv' },
    });
    expect([onnx, small].map((plan) => plan && needsProcesses(plan))).toEqual([true, false]);
    expect(pythonFiles([onnx, small] as never)).toEqual(['sub/text.py']);
  });

  test('are named in the message when their file is missing', () => {
    const missing = join(folder, 'none.py');
    expect(() => checkModelFiles(settingsOf('', { models: [`${missing}:Model`] }))).toThrow(
      `There is no file ${missing} for the model none.`,
    );
  });
});

describe('python() in a service', () => {
  const planned = (runners: Parameters<typeof defineService>[0]['runners'], yaml = '') =>
    planRunners(settingsOf(yaml), defineService({ runners, routes: () => [] }));

  test('is batchable unless code or settings say otherwise; other runners of a service are not', () => {
    const runners = {
      a: python('a.py'),
      b: python('b.py', { batchable: false }),
      c: fn((items: string[]) => items),
    };
    const batchable = (yaml?: string) => planned(runners, yaml).map(({ settings }) => settings.batchable);
    expect(batchable()).toEqual([true, false, false]);
    expect(batchable('runners: {a: {batchable: false}}')).toEqual([false, false, false]);
  });

  test('takes the options of a runner', () => {
    const [plan] = planned({ a: python('a.py:Name', { replicas: 3, isolate: false, python: '.venv' }) });
    expect(plan).toMatchObject({
      source: { kind: 'python', path: 'a.py', object: 'Name' },
      settings: { replicas: 3, isolate: false, python: '.venv' },
    });
  });

  test.each([
    [
      'no Python file',
      () => python('model.onnx'),
      /python\(path\): expected the path of a Python file .*got "model\.onnx"/,
    ],
    ['no path', () => python(5 as never), /expected the path of a Python file/],
    [
      'an unknown option',
      () => python('a.py', { pythn: 'x' } as never),
      /unknown key "pythn"\. Did you mean python\?/,
    ],
    ['an invalid option', () => python('a.py', { isolate: 1 } as never), /isolate/],
  ])('rejects %s', (_, call, message) => {
    expect(call).toThrow(message);
  });

  test('with a queue in Redis needs MessagePack', () => {
    const redis = { queue: 'texts', payload: 'json' } as const;
    expect(() => planned({ a: python('a.py', { redis }) })).toThrow(/expected msgpack/);
  });
});
