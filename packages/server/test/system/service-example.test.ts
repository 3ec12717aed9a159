/** The example service as its users meet it: real models, real sockets. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import {
  createModelRunner,
  DEFAULT_RUNNER_SETTINGS,
  type ModelRunner,
  OnnxModel,
  type Runner,
  type RunnerSink,
} from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { docsRoutes } from '../../src/docs/docs-routes.js';
import { openApiDocument } from '../../src/docs/open-api-document.js';
import { HttpServer } from '../../src/http/http-server.js';
import { loadService } from '../../src/service/load-service.js';
import { serviceRoutes } from '../../src/service/service-routes.js';
import { openApiMistakes } from '../docs/support/open-api-mistakes.js';

interface Samples {
  readonly labels: readonly string[];
  readonly samples: readonly {
    readonly input: number[];
    readonly probabilities: number[];
  }[];
}

const root = new URL('../../../../', import.meta.url);
const samplesOf = (name: string): Samples =>
  JSON.parse(readFileSync(new URL(`models/${name}.json`, root), 'utf8'));

/** What the model says, which is not always what is true. */
const largest = (values: readonly number[]) => values.indexOf(Math.max(...values));

const runners = new Map<string, ModelRunner>();
let http: HttpServer;
let url = '';

describe('the example service', () => {
  beforeAll(async () => {
    const service = await loadService(fileURLToPath(new URL('examples/service/service.ts', root)));
    for (const [name, declared] of service.runners) {
      if (declared.kind !== 'onnx') throw new Error(`${name} is no model`);
      const { batching, resources, redis, upstream, ...declaredSettings } = declared.settings;
      const settings = {
        ...DEFAULT_RUNNER_SETTINGS,
        ...declaredSettings,
        batching: { ...DEFAULT_RUNNER_SETTINGS.batching, ...batching, targetLatencyMs: 60_000 },
        redis: { ...DEFAULT_RUNNER_SETTINGS.redis, ...redis },
        upstream: { ...DEFAULT_RUNNER_SETTINGS.upstream, ...upstream },
      };
      const model = new OnnxModel({ file: declared.path, resources });
      runners.set(name, createModelRunner({ name, model, settings }));
    }
    await Promise.all([...runners.values()].map(({ ready }) => ready));
    const document = () => openApiDocument({ name: 'Batchwise', version: '1', service, models: runners });
    const routes = [
      ...serviceRoutes(service, runners as ReadonlyMap<string, Runner>),
      ...docsRoutes(document),
    ];
    http = new HttpServer({ routes });
    ({ url } = await http.listen('127.0.0.1', 0));
  });

  afterAll(async () => {
    await http.close();
    await Promise.all([...runners.values()].map((runner) => runner.close()));
  });

  const post = (path: string, body: unknown) =>
    fetch(new URL(path, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  const flowerOf = ([sepal_length, sepal_width, petal_length, petal_width]: readonly number[]) => ({
    sepal_length,
    sepal_width,
    petal_length,
    petal_width,
  });

  const imageOf = (pixels: readonly number[]) =>
    Array.from({ length: 8 }, (_, row) => pixels.slice(row * 8, row * 8 + 8));

  test('tells every sample flower as the model does, asked all at once', async () => {
    const { labels, samples } = samplesOf('iris');
    await Promise.all(
      samples.map(async ({ input, probabilities }) => {
        const response = await post('/classify', flowerOf(input));
        expect(response.status).toBe(200);
        expect(Number(response.headers.get('batchwise-batch-size'))).toBeGreaterThanOrEqual(1);
        const answer = (await response.json()) as { label: string; probabilities: Record<string, number> };
        expect(answer.label).toBe(labels[largest(probabilities)]);
        for (const [i, name] of labels.entries()) {
          expect(Math.abs((answer.probabilities[name] ?? 2) - (probabilities[i] ?? 0))).toBeLessThan(1e-5);
        }
      }),
    );
  });

  test('asks two models at the same time', async () => {
    const flowers = samplesOf('iris');
    const digits = samplesOf('digits');
    for (let i = 0; i < 10; i++) {
      const [flower, digit] = [flowers.samples[i], digits.samples[i]];
      if (flower === undefined || digit === undefined) throw new Error('too few samples');
      const response = await post('/both', { flower: flowerOf(flower.input), image: imageOf(digit.input) });
      expect(await response.json()).toMatchObject({
        flower: { label: flowers.labels[largest(flower.probabilities)] },
        digit: { label: largest(digit.probabilities) },
      });
    }
  });

  test('says what is wrong and where', async () => {
    const response = await post('/classify', {
      sepal_length: 'x',
      sepal_width: 1,
      petal_length: 1,
      petal_width: 1,
    });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({
      where: 'body.sepal_length',
      detail: 'body.sepal_length: expected number, got "x".',
    });
  });

  test('documents itself, with examples that it can be asked with', async () => {
    const document = (await (await fetch(new URL('/docs.json', url))).json()) as {
      components: { schemas: Record<string, { examples?: unknown[] }> };
    };
    expect(openApiMistakes(document)).toEqual([]);
    const [example] = document.components.schemas['post_classify.input']?.examples ?? [];
    expect((await post('/classify', example)).status).toBe(200);
  });

  test('cancels what a client that hangs up was waiting for', async () => {
    const iris = runners.get('iris') as ModelRunner;
    const enqueue = iris.enqueue.bind(iris);
    let cancelled = (): void => {};
    const isCancelled = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    // It answers nothing until it is cancelled: the client has all the time it needs to hang up.
    iris.enqueue = (_item, sink: RunnerSink<never>, _options?: EnqueueOptions) => {
      socket.destroy();
      return {
        cancel: () => {
          cancelled();
          sink.reject(new Error('cancelled'));
        },
      };
    };
    try {
      const body = JSON.stringify(flowerOf([6.5, 3.2, 5.1, 2]));
      socket.write(
        `POST /classify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      await isCancelled;
    } finally {
      iris.enqueue = enqueue;
    }
    expect((await post('/classify', flowerOf([6.5, 3.2, 5.1, 2]))).status).toBe(200);
  });
});
