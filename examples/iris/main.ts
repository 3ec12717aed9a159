/** Serves the iris classifier, sends requests in parallel, shows the batches that formed, and forces a rejection. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadConfig, serve } from '@batchwise/server';
import { batchSizePlot } from './batch-size-plot.js';

/** The name that BentoML's dashboards have for it; it is `batchwise_batch_size` as well. */
const HISTOGRAM = 'BENTOML_iris_clf_predict_adaptive_batch_size';
const REQUESTS = 2000;
const CALLERS = 100;
/** Less than a request takes when many others are sent at the same time. */
const TIGHT_LATENCY_MS = 1;
const MOST_CALLERS = 1600;

const CONFIGURATION = fileURLToPath(new URL('../configuration.yml', import.meta.url));
const SERVICE = fileURLToPath(new URL('../service.ts', import.meta.url));
const FLOWERS = new URL('../../../models/iris.json', import.meta.url);

interface Flowers {
  readonly labels: readonly string[];
  readonly samples: readonly {
    readonly input: readonly number[];
    readonly probabilities: readonly number[];
  }[];
}

const { labels, samples } = JSON.parse(await readFile(FLOWERS, 'utf8')) as Flowers;

/** Settings that go over those of the file, as with `batchwise serve`. */
const env: NodeJS.ProcessEnv = { ...process.env, BATCHWISE__METRICS__BENTOML_NAMES: 'true' };
const server = await serve({
  load: (runnerNames) =>
    loadConfig({ file: CONFIGURATION, env, flags: { service: SERVICE, port: 0 }, runnerNames }),
  log: (line) => console.log(`  ${line}`),
});
const { url } = server.address;

try {
  console.log(`The server listens at ${url}, with this configuration:\n`);
  console.log(indented(await readFile(CONFIGURATION, 'utf8')));

  console.log('\nOne request: POST /classify [6.5, 3.2, 5.1, 2]');
  console.log(indented(await (await classify([6.5, 3.2, 5.1, 2])).text()));

  console.log(`\n${REQUESTS} requests by ${CALLERS} callers:`);
  const startedAt = performance.now();
  const { ok, correct, rejected } = await inParallel(CALLERS, REQUESTS);
  const perSecond = Math.round(REQUESTS / ((performance.now() - startedAt) / 1000));
  console.log(`  ${ok} answered, ${rejected} rejected, ${perSecond} requests per second`);
  console.log(`  ${correct} of ${ok} answers have the expected species`);
  if (correct !== ok || ok + rejected !== REQUESTS) process.exitCode = 1;

  console.log(`\nBatch sizes, from ${url}/metrics (${HISTOGRAM}):\n`);
  console.log(indented(batchSizePlot(await (await fetch(`${url}/metrics`)).text(), HISTOGRAM)));

  console.log(`\nA latency that cannot be met: max_latency_ms: ${TIGHT_LATENCY_MS}`);
  env.BATCHWISE__RUNNERS__IRIS_CLF__BATCHING__MAX_LATENCY_MS = String(TIGHT_LATENCY_MS);
  server.reload();
  console.log(`\n${indented(await forceRejection())}`);
} finally {
  await server.stop();
}
console.log('\nThe server has stopped.');

function classify(measures: readonly number[]): Promise<Response> {
  return fetch(`${url}/classify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(measures),
  });
}

interface Answers {
  readonly ok: number;
  readonly correct: number;
  readonly rejected: number;
  /** One of the rejections, its body not read yet. */
  readonly rejection: Response | undefined;
}

/** Each caller sends a flower, waits for the answer, and sends the next one. */
async function inParallel(callers: number, requests: number): Promise<Answers> {
  let [sent, ok, correct, rejected] = [0, 0, 0, 0];
  let rejection: Response | undefined;

  async function caller(): Promise<void> {
    while (sent < requests) {
      const { input, probabilities } = samples[sent++ % samples.length] ?? { input: [], probabilities: [] };
      const response = await classify(input);
      if (response.status === 429) {
        rejected += 1;
        if (rejection === undefined) rejection = response;
        else await response.text();
      } else if (response.ok) {
        ok += 1;
        const { species } = (await response.json()) as { species: string };
        if (species === labels[probabilities.indexOf(Math.max(...probabilities))]) correct += 1;
      }
    }
  }

  await Promise.all(Array.from({ length: callers }, caller));
  return { ok, correct, rejected, rejection };
}

/** More and more callers at a time, until one of them is rejected. */
async function forceRejection(): Promise<string> {
  for (let callers = CALLERS; callers <= MOST_CALLERS; callers *= 2) {
    const requests = callers * 5;
    const { rejected, rejection } = await inParallel(callers, requests);
    if (rejection === undefined) continue;
    console.log(`  ${callers} callers: ${rejected} of ${requests} requests were rejected, for example:`);
    return responseText(rejection);
  }
  throw new Error(`Expected a response with status 429, got none with ${MOST_CALLERS} callers.`);
}

async function responseText(response: Response): Promise<string> {
  const headers = ['retry-after', 'retry-after-ms', 'content-type'].map(
    (name) => `${name}: ${response.headers.get(name)}`,
  );
  const body = JSON.stringify(await response.json(), undefined, 2);
  return [`HTTP ${response.status} ${response.statusText}`, ...headers, '', body].join('\n');
}

function indented(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, '  ');
}
