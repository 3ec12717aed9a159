/** The files in deploy/ by the judgement of other programs: promtool, tsc, systemd-analyze, Redis. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RedisBatcher, RedisProcessor } from '@batchwise/redis';
import { expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { until } from '../../packages/cli/test/system/support/until.js';
import { startRedis } from '../../packages/redis/test/support/redis-server.js';
import { findCommand, findProgram, testPrograms } from '../../scripts/test-programs.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const deploy = join(root, 'deploy');

test('promtool finds nothing wrong with prometheus.yml', async () => {
  const promtool = findProgram(testPrograms.promtool) ?? 'promtool';
  const { stdout } = await run(promtool, ['check', 'config', join(deploy, 'prometheus.yml')]);
  expect(stdout).toContain('SUCCESS');
});

// Kinds that the types of Kubernetes do not have: KEDA's, the Prometheus operator's, kustomize's.
const FOREIGN = /^(keda\.sh|monitoring\.coreos\.com|kustomize\.config\.k8s\.io)\//;

/** The compiler reports unknown keys of object literals, as `kubectl apply --validate=strict` would. */
test('the manifests have the types of the Kubernetes API', async () => {
  // Under the root, so that the types are found.
  const folder = join(root, 'node_modules/.cache/kubernetes');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const documents = readdirSync(join(deploy, 'kubernetes'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml') && !path.endsWith('batchwise.yaml'))
    .flatMap((path) => parseAllDocuments(readFileSync(join(deploy, 'kubernetes', path), 'utf8')))
    .map((document) => document.toJS() as { apiVersion: string; kind: string })
    .filter(({ apiVersion }) => !FOREIGN.test(apiVersion));
  expect(documents.length).toBeGreaterThan(7);
  const declared = documents.map((document) => {
    const module = document.apiVersion.includes('/') ? document.apiVersion : `core/${document.apiVersion}`;
    return `import('kubernetes-types/${module}').${document.kind} = ${JSON.stringify(document)};`;
  });
  const write = (name: string, lines: string[]) =>
    writeFileSync(join(folder, name), lines.map((line, i) => `export const x${i}: ${line}\n`).join(''));
  write('manifests.ts', declared);
  const broken = declared.find((line) => line.includes('livenessProbe')) ?? '';
  write('broken.ts', [broken.replace('"livenessProbe"', '"livenesProbe"')]);
  const options = [
    '--noEmit',
    '--strict',
    '--ignoreConfig',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--types',
    '',
  ];
  const tsc = (name: string) =>
    run(process.execPath, [
      join(root, 'node_modules/typescript/bin/tsc'),
      ...options,
      join(folder, name),
    ]).catch((failure) => failure);
  expect((await tsc('manifests.ts')).stdout).toBe('');
  expect((await tsc('broken.ts')).stdout).toContain('livenesProbe');
});

/** A cancelled item leaves a gap ahead of the group, and then Redis knows no lag. */
test('the triggers of KEDA count the items outstanding, also when some were cancelled', async () => {
  await using redis = await startRedis();
  const scaling = parse(readFileSync(join(deploy, 'kubernetes/keda/worker-scaling.yaml'), 'utf8'));
  const streams = (scaling.spec.triggers as { metadata: Record<string, string> }[]).map(({ metadata }) => {
    expect(metadata).toMatchObject({ streamLength: expect.stringMatching(/^\d+$/) });
    // With a group, KEDA would count something else.
    expect(metadata).not.toHaveProperty('consumerGroup');
    return metadata.stream ?? '';
  });
  const options = { url: redis.url, queue: 'digits' };
  await using batcher = new RedisBatcher<number, number>(options);
  // Makes the group, and holds the first batch.
  let finish = () => {};
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  await using processor = new RedisProcessor<number, number>(
    async (numbers) => {
      await held;
      return numbers;
    },
    { ...options, maxBatchSize: 1 },
  );
  // Whatever fails: the processor could not close before.
  using _release = { [Symbol.dispose]: () => finish() };
  await processor.ready;
  const abort = new AbortController();
  const calls = [1, 0, -1].flatMap((priority) =>
    [1, 2, 3, 4, 5, 6].map((number) =>
      batcher.submit(number, { priority, ...(number === 5 ? { signal: abort.signal } : {}) }),
    ),
  );
  const settled = Promise.allSettled(calls);
  const lengths = async () =>
    Promise.all(streams.map(async (stream) => Number(await redis.cli('XLEN', stream))));
  await until(async () => (await lengths()).join() === '6,6,6', 'all items are in the streams');
  abort.abort();
  await until(async () => (await lengths()).join() === '5,5,5', 'the cancelled items have left the streams');
  const groups = await Promise.all(streams.map((stream) => redis.cli('XINFO', 'GROUPS', stream)));
  // The last of the fields, and empty.
  expect(groups.map((text) => /\nlag\n(\d*)$/.exec(text)?.[1])).toContain('');
  finish();
  expect((await settled).filter(({ status }) => status === 'fulfilled')).toHaveLength(15);
  expect(await lengths()).toEqual([0, 0, 0]);
});

const systemdAnalyze = findCommand('systemd-analyze');

/** Where systemd is installed; the unit tests check the same files everywhere. */
test.runIf(systemdAnalyze)('systemd finds nothing wrong with the units, and little exposure', () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-units-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['batchwise.service', 'batchwise-worker@.service']) {
    // A program that is not there would be an error.
    const unit = readFileSync(join(deploy, 'systemd', name), 'utf8').replace(
      '/usr/bin/node',
      process.execPath,
    );
    const file = join(folder, name);
    writeFileSync(file, unit);
    const analyze = (...args: string[]) =>
      spawnSync(systemdAnalyze ?? '', [...args, file], { encoding: 'utf8' });
    const { status, stdout, stderr } = analyze('verify');
    expect({ status, said: (stdout + stderr).split('\n').filter((line) => line.includes(folder)) }).toEqual({
      status: 0,
      said: [],
    });
    // 0 is none, 10 is everything.
    const { stdout: security } = analyze('security', '--offline=yes', '--threshold=20');
    expect(Number(/exposure level .*: ([\d.]+)/.exec(security)?.[1])).toBeLessThan(2);
  }
});
