/**
 * What deploy/Dockerfile builds, started as its user: with the default command, and as compose.yaml starts it. There is
 * no engine here, so the steps of the Dockerfile run in a folder. In `npm test`, the checkout's own build stands for
 * the compilation; the nightly suite runs every step.
 */
import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { until } from '../../packages/cli/test/system/support/until.js';
import { parseExposition } from '../../packages/metrics/test/support/exposition.js';
import { freePort } from '../../packages/redis/test/support/free-port.js';
import { startRedis } from '../../packages/redis/test/support/redis-server.js';
import { shortOrLong } from '../../scripts/test-length.js';
import { findProgram, testPrograms } from '../../scripts/test-programs.js';
import { buildImage, type Image, startContainer } from '../support/image-build.js';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const deploy = join(repository, 'deploy');

let folder: string;
let image: Image;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-image-'));
  chmodSync(folder, 0o755); // the image's user goes through it
  const built = new Map([
    ['npm ci --no-audit --no-fund', () => {}],
    ['npx tsc -b packages/cli', copyBuild],
  ]);
  image = await buildImage({
    folder,
    context: repository,
    dockerfile: join(deploy, 'Dockerfile'),
    shortcuts: shortOrLong(1, 2) === 1 ? built : new Map(),
  });
  cpSync(join(repository, 'models'), join(image.root, 'models'), { recursive: true });
});

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

/** Waits for the signal: a request that is in flight when the server is told to stop. */
const SERVICE = `
import { defineService, onnx } from '@batchwise/server';
import { z } from 'zod';

export const service = defineService({
  name: 'Image test',
  runners: { iris: onnx('iris.onnx', { batchable: true }) },
  routes: (route) => [
    route.post('/slow', {
      input: z.object({}),
      handler: async () => {
        console.log('in flight');
        await new Promise((resolve) => process.once('SIGTERM', () => setTimeout(resolve, 20)));
        return { finished: true };
      },
    }),
  ],
});
`;

describe('the default command', () => {
  test('serves the file of settings in /models as a user without rights, and drains on SIGTERM', async () => {
    writeModelFile('service.ts', SERVICE);
    writeModelFile('batchwise.yaml', 'service: service.ts\nmodels: [digits.onnx]\n');
    const port = String(await freePort());
    const variables = { BATCHWISE__SERVER__PORT: port };
    const isHealthy = async () => (await ended(start(image.healthcheck, variables))).code === 0;
    expect(await isHealthy()).toBe(false);

    const server = start([...image.entrypoint, ...image.cmd], variables);
    await until(() => server.isReady() || server.hasEnded, 'the server is ready');
    expect(server.stderr).toBe('');
    expect(await isHealthy()).toBe(true);
    // PID 1 of a container is the process that was started: no shell, no launcher.
    expect(procFile(server.process, 'cmdline').split('\0').slice(0, 1)).toEqual(['node']);
    expect(procFile(server.process, 'net/tcp')).toContain(
      `00000000:${Number(port).toString(16).toUpperCase().padStart(4, '0')} `,
    );
    if (process.getuid?.() === 0) expect(procFile(server.process, 'status')).toMatch(/^Uid:\t1000\t1000/m);

    const pixels = new Array(64).fill(0);
    const prediction = await post(port, '/v1/models/digits:predict', { instances: [pixels] });
    expect(prediction.status).toBe(200);
    expect(checkDashboard(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())).toEqual([]);

    const slow = post(port, '/slow', {});
    await until(() => server.stdout.includes('in flight'), 'the request is in flight');
    server.process.kill('SIGTERM');
    expect(await (await slow).json()).toEqual({ finished: true });
    expect(await ended(server)).toEqual({ code: 0, signal: null });
  });

  test('without models says what is missing, and fails', async () => {
    const server = start([...image.entrypoint, 'serve', '/does-not-exist.onnx']);
    expect((await ended(server)).code).toBe(1);
    expect(server.stderr).toContain('/does-not-exist.onnx');
  });
});

test('the image holds what runs, for one platform, and nothing that is for development', () => {
  const modules = join(image.root, 'app/node_modules');
  expect(
    ['typescript', 'vitest', 'next', 'playwright-core'].filter((name) => existsSync(join(modules, name))),
  ).toEqual([]);
  expect(readdirSync(join(image.root, 'app/packages')).filter((name) => name === 'integrations')).toEqual([]);
  const platforms = readdirSync(join(modules, 'onnxruntime-node/bin'), { recursive: true, encoding: 'utf8' });
  const libraries = platforms.filter((path) => /\.(node|dll|dylib|so)/.test(path));
  expect(libraries.filter((path) => !path.includes(`linux/${process.arch}/`))).toEqual([]);
  expect(libraries.filter((path) => path.endsWith('.node'))).toHaveLength(1);
  // Of its install script, which .npmrc turns off.
  expect(libraries.filter((path) => /cuda|tensorrt/.test(path))).toEqual([]);
});

test('a Python model is served with the Python package of the image', async () => {
  const python = findProgram(testPrograms.python);
  writeModelFile('total.py', 'def total(rows):\n    return [sum(row) for row in rows]\n');
  const port = String(await freePort());
  // Python comes with the stage `python`; here it may lie where only this user can go.
  const server = start(
    [...image.entrypoint, 'serve', 'total.py'],
    {
      BATCHWISE__SERVER__PORT: port,
      BATCHWISE__RUNNERS__PYTHON: python ?? '',
    },
    { ...image, user: `${process.getuid?.()}:${process.getgid?.()}` },
  );
  await until(() => server.isReady() || server.hasEnded, 'the server is ready');
  const answer = await post(port, '/v1/models/total:predict', { instances: [[1, 2]] });
  expect(await answer.json()).toEqual({ predictions: [3] });
  server.process.kill('SIGTERM');
  expect(await ended(server)).toEqual({ code: 0, signal: null });
});

test('compose.yaml: a server and a worker share a queue in a Redis that keeps it', async () => {
  const { services } = parse(readFileSync(join(deploy, 'compose.yaml'), 'utf8'), { merge: true });
  const [, ...flags] = services.redis.command as string[];
  const settings = flags
    .join(' ')
    .split('--')
    .map((line) => line.trim())
    .filter(Boolean);
  await using redis = await startRedis({ settings });
  expect(await redis.cli('CONFIG', 'GET', 'maxmemory-policy')).toContain('noeviction');
  expect(await redis.cli('CONFIG', 'GET', 'appendonly')).toContain('yes');

  const port = String(await freePort());
  const config = join(image.root, 'batchwise.yaml');
  writeFileSync(config, inImage(readFileSync(join(deploy, 'batchwise.yaml'), 'utf8')));
  expect(Object.keys(services.web.environment)).toEqual(['BATCHWISE_CONFIG', 'REDIS__URL']);
  const web = start([...image.entrypoint, ...image.cmd], {
    BATCHWISE_CONFIG: config,
    REDIS__URL: redis.url,
    BATCHWISE__SERVER__PORT: port,
  });
  expect(Object.keys(services.worker.environment)).toEqual(['REDIS__URL']);
  const command = (services.worker.command as string[]).map(inImage);
  const worker = start([...image.entrypoint, ...command], { REDIS__URL: redis.url });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(async () => web.hasEnded || worker.hasEnded || (await isReady()), 'the server is ready');

  const answer = await post(port, '/v1/models/digits:predict', { instances: [new Array(64).fill(0)] });
  expect(answer.status).toBe(200);
  for (const container of [worker, web]) {
    container.process.kill('SIGTERM');
    expect(await ended(container), container.stderr).toEqual({ code: 0, signal: null });
  }
});

/** A process of a container, and what it has printed. */
class Container {
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  stdout = '';
  stderr = '';
  hasEnded = false;

  constructor(readonly process: ChildProcess) {
    process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = once(process, 'close')
      .then(([code, signal]) => ({ code, signal }))
      .finally(() => {
        this.hasEnded = true;
      });
    this.exit.catch(() => {});
  }

  isReady(): boolean {
    return this.stdout.includes('Ctrl-C');
  }
}

function start(command: readonly string[], variables: Record<string, string> = {}, of = image): Container {
  const container = new Container(startContainer(of, command, variables));
  onTestFinished(async () => {
    container.process.kill('SIGKILL');
    await container.exit;
  });
  return container;
}

function ended(container: Container) {
  return container.exit;
}

function post(port: string, path: string, body: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

function writeModelFile(name: string, text: string): void {
  writeFileSync(join(image.root, 'models', name), text);
}

/** Paths of the image, below its folder. */
function inImage(text: string): string {
  return text.replace(/(?<=^|\s)\/models\//gm, join(image.root, 'models/'));
}

function procFile({ pid }: ChildProcess, name: string): string {
  return readFileSync(`/proc/${pid}/${name}`, 'utf8');
}

/** The checkout's own compiled files. */
function copyBuild(target: string): void {
  for (const name of readdirSync(join(repository, 'packages'))) {
    const source = join(repository, 'packages', name, 'dist');
    if (!existsSync(source)) continue;
    mkdirSync(join(target, 'packages', name), { recursive: true });
    cpSync(source, join(target, 'packages', name, 'dist'), { recursive: true });
  }
}

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

/** What in the queries of the dashboard these metrics do not have, or is not PromQL. */
function checkDashboard(metrics: string): string[] {
  const families = parseExposition(metrics);
  const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana/dashboards/batchwise.json'), 'utf8')) as {
    panels: Panel[];
  };
  const wrong: string[] = [];
  const expressions = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  expect(expressions.length).toBeGreaterThan(12);
  for (const { title, expr } of expressions) {
    const names = [...expr.matchAll(/\b(batchwise|process|nodejs)_\w+/g)].map(([name]) => name);
    if (names.length === 0) wrong.push(`${title}: no metric`);
    const labels = new Set<string>(['le', 'job', 'instance']);
    for (const name of names) {
      const family = families.get(name.replace(/_(bucket|sum|count)$/, '')) ?? families.get(name);
      if (family === undefined) wrong.push(`${title}: ${name}`);
      for (const { labels: known } of family?.samples ?? [])
        for (const label of known.keys()) labels.add(label);
    }
    const used = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"|by \(([^)]*)\)/g)];
    for (const label of used.flatMap(([, one, list]) => one ?? list?.split(/\s*,\s*/) ?? [])) {
      if (!labels.has(label)) wrong.push(`${title}: label ${label}`);
    }
  }
  const rules = expressions.map(({ expr }, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$runner', '.*'),
  }));
  const file = join(folder, 'rules.json');
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { status, stdout, stderr } = spawnSync(promtool(), ['check', 'rules', file], { encoding: 'utf8' });
  if (status !== 0) wrong.push(stdout + stderr);
  return wrong;
}

function promtool(): string {
  const found = findProgram(testPrograms.promtool);
  if (found === undefined) throw new Error('no promtool: node scripts/test-requirements.js gets it');
  return found;
}
