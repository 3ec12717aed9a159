/** Servers whose runners are placed in Redis, and processors that run them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RedisProcessor } from '@batchwise/redis';
import { createModelHandler, DEFAULT_RUNNER_SETTINGS, OnnxModel } from '@batchwise/runners';
import { expect, onTestFinished } from 'vitest';
import type { RedisServer } from '../../../redis/test/support/redis-server.js';
import { loadConfig } from '../../src/config/load-config.js';
import type { RunningServer } from '../../src/running-server.js';
import { serve } from '../../src/serve.js';

export interface Sample {
  readonly input: readonly number[];
  readonly probabilities: readonly number[];
}

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const DIGITS = pathOf('../../../../models/digits.onnx');
export const SAMPLES: readonly Sample[] = JSON.parse(
  readFileSync(pathOf('../../../../models/digits.json'), 'utf8'),
).samples;

export function expectProbabilities(given: readonly number[], samples: readonly Sample[]): void {
  const expected = samples.flatMap(({ probabilities }) => probabilities);
  expect(given).toHaveLength(expected.length);
  given.forEach((value, i) => {
    expect(Math.abs(value - (expected[i] as number))).toBeLessThanOrEqual(1e-5);
  });
}

export function inferBody(samples: readonly Sample[]): unknown {
  const data = samples.flatMap(({ input }) => input);
  return { inputs: [{ name: 'input', datatype: 'FP32', shape: [samples.length, 1, 8, 8], data }] };
}

/** Each test has a queue of its own, and can ask Redis about it. */
export class Queue {
  readonly name = `digits-${Math.random().toString(36).slice(2)}`;
  readonly redis: RedisServer;

  constructor(redis: RedisServer) {
    this.redis = redis;
  }

  /** How many are accepted and not answered. */
  async outstanding(): Promise<number> {
    return Number(await this.redis.cli('XLEN', `batchwise:{${this.name}}:requests:normal`));
  }

  /** A processor of the model, in this process. */
  async processor({ maxBatchSize = 100, leaseMs = 15_000 } = {}): Promise<RedisProcessor<unknown, unknown>> {
    const { batching } = DEFAULT_RUNNER_SETTINGS;
    const model = await createModelHandler({
      // Another than the server's own: batches are told by their names, to all in the process.
      name: `processor of ${this.name}`,
      model: new OnnxModel({ file: DIGITS }),
      settings: { ...DEFAULT_RUNNER_SETTINGS, batchable: true, batching: { ...batching, maxBatchSize } },
    });
    const { url } = this.redis;
    const processor = new RedisProcessor(model.handler, {
      url,
      queue: this.name,
      payload: 'msgpack',
      leaseMs,
      ...model.options,
    });
    onTestFinished(async () => {
      processor.destroy();
      await processor.close();
      await model.close();
    });
    await processor.ready;
    return processor;
  }

  /** Of the model, without code. */
  yaml(more = ''): string {
    return [
      'server: { port: 0, grpc_port: 0 }',
      `models: [{ name: digits, path: ${DIGITS} }]`,
      'runners:',
      '  digits:',
      `    redis: { queue: ${this.name}, url: "${this.redis.url}"${more === '' ? '' : `, ${more}`} }`,
      '',
    ].join('\n');
  }
}

export class Served {
  readonly logs: readonly string[];
  readonly #server: RunningServer;

  static async start(yaml: string, logs: string[] = []): Promise<Served> {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'batchwise.yaml');
    writeFileSync(file, yaml);
    const server = await serve({
      load: (runnerNames) => loadConfig({ cwd: folder, file, runnerNames }),
      log: (line) => logs.push(line),
    });
    onTestFinished(() => server.kill());
    return new Served(server, logs);
  }

  private constructor(server: RunningServer, logs: string[]) {
    this.#server = server;
    this.logs = logs;
  }

  get grpcPort(): number {
    return this.#server.address.grpcPort as number;
  }

  stop(): Promise<boolean> {
    return this.#server.stop();
  }

  get(path: string): Promise<Response> {
    return fetch(new URL(path, this.#server.address.url));
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(new URL(path, this.#server.address.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Asks for samples, checks the answer, and gives the size of the batch that they were in. */
  async infer(samples: readonly Sample[]): Promise<number> {
    const response = await this.post('/v2/models/digits/infer', inferBody(samples));
    expect(response.status).toBe(200);
    const { outputs } = (await response.json()) as { outputs: [{ data: number[] }] };
    expectProbabilities(outputs[0].data, samples);
    return Number(response.headers.get('batchwise-batch-size'));
  }
}
