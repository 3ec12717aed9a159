/** Runners that are placed in Redis, behind a server of several processes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { type Child, startChild } from '../../../redis/test/support/child.js';
import { eventually } from '../../../redis/test/support/eventually.js';
import { forThisTest } from '../../../redis/test/support/for-this-test.js';
import { startRedis } from '../../../redis/test/support/redis-server.js';
import { expectProbabilities, inferBody, Queue, SAMPLES, type Sample } from './redis-served.js';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const [FIRST] = SAMPLES as readonly [Sample];

interface Told {
  readonly log?: string;
  readonly started?: { readonly url: string };
  readonly stopping?: boolean;
}

class Workers {
  readonly child: Child;
  readonly #url: string;

  static async start(yaml: string): Promise<Workers> {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'batchwise.yaml');
    writeFileSync(file, yaml);
    const env = { TMPDIR: folder };
    const child = await forThisTest(startChild(fixture('redis-server.mjs'), { args: [file], env }));
    const { started } = await child.until<Told>((told) => told.started !== undefined);
    return new Workers(child, started?.url as string);
  }

  private constructor(child: Child, url: string) {
    this.child = child;
    this.#url = url;
  }

  async status(path: string): Promise<number> {
    return (await fetch(new URL(path, this.#url), { headers: { connection: 'close' } })).status;
  }

  infer(samples: readonly Sample[]): Promise<Response> {
    return fetch(new URL('/v2/models/digits/infer', this.#url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(inferBody(samples)),
    });
  }

  async expectInferred(samples: readonly Sample[]): Promise<void> {
    const response = await this.infer(samples);
    expect(response.status).toBe(200);
    const { outputs } = (await response.json()) as { outputs: [{ data: number[] }] };
    expectProbabilities(outputs[0].data, samples);
  }
}

test('all web processes submit to the queue, hear when Redis goes and comes, and are drained by SIGTERM', async () => {
  const redis = await forThisTest(startRedis());
  const queue = new Queue(redis);
  const yaml = queue
    .yaml()
    .replace('grpc_port: 0', 'workers: 2')
    .replace('    redis:', '    batching: { max_batch_size: 8 }\n    redis:');
  const workers = await Workers.start(yaml);
  const processor = await queue.processor({ maxBatchSize: 8 });
  await Promise.all(SAMPLES.map((sample) => workers.expectInferred([sample])));
  await workers.expectInferred(SAMPLES);

  await redis.kill();
  // Each web process hears it for itself: ten in a row are of both.
  const isEverywhere = async (readiness: number) => {
    const asked = await Promise.all(Array.from({ length: 10 }, () => workers.status('/readyz')));
    return asked.every((status) => status === readiness);
  };
  await eventually('the server not ready', () => isEverywhere(503));
  expect(await workers.status('/livez')).toBe(200);
  expect((await workers.infer([FIRST])).status).toBe(503);
  await redis.restart();
  await eventually('the server ready', () => isEverywhere(200));
  await workers.expectInferred([FIRST]);

  await processor.close();
  const asked = workers.expectInferred([FIRST]);
  await eventually('the request in the queue', async () => (await queue.outstanding()) === 1);
  const ended = workers.child.kill('SIGTERM');
  await workers.child.until<Told>(({ stopping }) => stopping === true);
  await queue.processor();
  await asked;
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(await redis.cli('KEYS', `batchwise:{${queue.name}}:client:*`)).toBe('');
});

test('a server without runners in Redis does not load what speaks to it', async () => {
  const program = `
    import { register } from 'node:module';
    const hook = 'export async function resolve(s, c, next) {' +
      "if (/redis/.test(s) && !s.startsWith('.') && !s.startsWith('file:')) process._rawDebug('loads ' + s);" +
      'return next(s, c); }';
    register('data:text/javascript,' + encodeURIComponent(hook));
    const { serve } = await import(${JSON.stringify(new URL('../../dist/serve.js', import.meta.url).href)});
    const { loadConfig } = await import(${JSON.stringify(new URL('../../dist/config/load-config.js', import.meta.url).href)});
    const server = await serve({ load: (runnerNames) => loadConfig({ file: process.argv[2], runnerNames }) });
    console.log(JSON.stringify({ started: true }));
    await server.stop();
    process.exit(0);
  `;
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const redis = await forThisTest(startRedis());
  const inRedis = new Queue(redis).yaml();
  const run = async (name: string, yaml: string) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, yaml);
    writeFileSync(join(folder, 'program.mjs'), program);
    const child = await forThisTest(startChild(join(folder, 'program.mjs'), { args: [file] }));
    await child.until<{ started?: boolean }>(({ started }) => started === true);
    await child.exited;
    return child.output;
  };
  expect(await run('without', inRedis.slice(0, inRedis.indexOf('runners:')))).toBe('');
  expect(await run('with', inRedis)).toContain('loads @batchwise/redis');
});
