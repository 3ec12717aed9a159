/** What cannot start says why, on stderr, in words for who started it, and leaves nothing behind. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { fixture, model, Serving, type ServingOptions } from './support/serving.js';

// The servers end by themselves and share nothing, so the tests need not wait for each other.
const cleanUps: (() => void)[] = [];

afterAll(async () => {
  await Serving.endAll();
  for (const cleanUp of cleanUps) cleanUp();
});

/** Runs it to its end. */
async function failed(args: readonly string[], options?: ServingOptions) {
  const serving = new Serving(args, options);
  const { code } = await serving.exit;
  const { stderr } = serving;
  expect(stderr).not.toMatch(/^\s+at .*node_modules|node:internal/m);
  await serving.isGone();
  return { code, stderr };
}

async function takenPort(): Promise<number> {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => other.close());
  return (other.address() as AddressInfo).port;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-start-'));
  cleanUps.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

const PORT_0 = ['--port', '0'];

describe.concurrent.each([
  ['in one process', []],
  ['with web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  test('a port that is taken', async () => {
    const port = await takenPort();
    const ended = await failed([model('iris'), '--port', String(port), ...workers]);
    expect(ended).toEqual({
      code: 1,
      stderr: `error: Cannot listen on 127.0.0.1:${port}: the port is already in use. Stop the other process, or choose another port (0 for any free port).\n`,
    });
  });

  test('a port for gRPC that is taken', async () => {
    const port = await takenPort();
    const ended = await failed([model('iris'), ...PORT_0, '--grpc-port', String(port), ...workers]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(new RegExp(`^error: .*${port}.*\n$`));
  });

  test('a model that is none', async () => {
    const file = join(temporaryFolder(), 'garbage.onnx');
    writeFileSync(file, 'these are not the bytes of a model');
    const ended = await failed([file, ...PORT_0, ...workers]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/^error: .*garbage/);
    expect(ended.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('a service that throws', async () => {
    const ended = await failed([fixture('throwing-service.ts'), ...PORT_0, ...workers]);
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(
      /^error: .*throwing-service\.ts cannot be loaded: Error: no licence for this model/,
    );
  });
});

test.concurrent('a model that is not there', async () => {
  expect(await failed(['rose.onnx', ...PORT_0])).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: There is no file \S*rose\.onnx for the model rose\.\n$/),
  });
});

test.concurrent('a folder in the place of a model', async () => {
  const folder = join(temporaryFolder(), 'folder.onnx');
  mkdirSync(folder);
  const ended = await failed([folder, ...PORT_0]);
  expect(ended).toMatchObject({ code: 1 });
  expect(ended.stderr).toMatch(/^error: .*folder/);
});

test.concurrent('nothing to serve', async () => {
  const ended = await failed(PORT_0);
  expect(ended).toMatchObject({ code: 1 });
  expect(ended.stderr).toMatch(/^error: Nothing to serve: expected a model .* or a service/);
});

describe.concurrent('mistakes on the command line are code 2', () => {
  test.each<[string, string[], RegExp]>([
    [
      'an unknown flag',
      ['--worker', '2'],
      /^error: unknown option '--worker'\n\(Did you mean --workers\?\)\n$/,
    ],
    ['a value that is none', ['--port', 'http'], /^error: .*--port.*http/],
    [
      'a file of another kind',
      ['model.pb'],
      /^error: model\.pb: expected a model \(\*\.py, \*\.onnx, grpc:\/\/…, http:\/\/…, unix:\/\/…\) or a service module/,
    ],
    ['two services', ['a.ts', 'b.ts'], /^error: expected at most one service module, got a\.ts and b\.ts/],
  ])('%s', async (_what, args, message) => {
    const ended = await failed([model('iris'), ...args]);
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toMatch(message);
  });
});

describe.concurrent('mistakes in the file of settings are told with their place', () => {
  test.each<[string, string, RegExp]>([
    [
      'an unknown key',
      'runners:\n  iris:\n    batching:\n      max_batchsize: 8\n',
      /batchwise\.yaml:4:7: .*max_batchsize.*max_batch_size/,
    ],
    ['no YAML', 'server: [\n', /batchwise\.yaml:\d+:\d+: /],
    [
      'an unknown runner',
      'runners:\n  rose:\n    batching:\n      enabled: false\n',
      /batchwise\.yaml:\d:\d: .*there is no runner rose/,
    ],
    ['a file that is not there', 'models:\n  - rose.onnx\n', /rose\.onnx/],
  ])('%s', async (_what, yaml, message) => {
    const ended = await failed(yaml.startsWith('models') ? [] : [model('iris')], { yaml });
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/^error: /);
    expect(ended.stderr).toMatch(message);
  });

  test('in the environment by the name of the variable', async () => {
    const ended = await failed([model('iris'), ...PORT_0], { env: { BATCHWISE__SERVER__WORKERS: 'all' } });
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/^error: .*BATCHWISE__SERVER__WORKERS.*all/);
  });
});
