/** What Prometheus' own tool says of the metrics: nothing. */
import { spawnSync } from 'node:child_process';
import { mergeSnapshots, prometheusText } from '@batchwise/metrics';
import { Batcher } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { parseExposition } from '../../../metrics/test/support/exposition.js';
import { ServerMetrics, type ServerMetricsOptions } from '../../src/metrics/server-metrics.js';

const opened: ServerMetrics[] = [];

afterEach(() => {
  for (const metrics of opened.splice(0)) metrics.close();
});

function check(text: string) {
  const promtool = findProgram(testPrograms.promtool);
  if (promtool === undefined) throw new Error('no promtool: node scripts/test-requirements.js gets it');
  const { status, stdout, stderr, error } = spawnSync(promtool, ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  if (error) throw error;
  return { status, said: stdout + stderr };
}

/** A process that has something to show for every metric. */
async function worked(options: Partial<ServerMetricsOptions>, runner: string): Promise<ServerMetrics> {
  const metrics = new ServerMetrics({ version: '1.2.3', kind: 'server', ...options });
  opened.push(metrics);
  const batcher = new Batcher(async (items: number[]) => items, { name: runner, maxBatchSize: 10 });
  metrics.watchRunner({ name: runner, stats: () => batcher.stats() }, 10);
  for (const size of [1, 2, 10, 25]) await batcher.submitMany(new Array(size).fill(1));
  metrics.assemblyOf(runner)(0.5);
  for (const status of [200, 404, 429, 499, 503, 504, 500]) {
    metrics.http.started('/v2/models/{model}/infer');
    metrics.http.ended('/v2/models/{model}/infer', status, status / 7);
  }
  metrics.grpc.started('ModelInfer');
  metrics.grpc.ended('ModelInfer', 'OK', 0.01);
  return metrics;
}

test('promtool finds nothing wrong with the metrics of several processes', async () => {
  const processes = [
    await worked({ kind: 'web' }, 'iris'),
    await worked({ kind: 'web', bentomlNames: true }, 'digits'),
    await worked({ kind: 'runner', bentomlNames: true }, 'iris'),
  ];
  const text = prometheusText(mergeSnapshots(processes.map((metrics) => metrics.snapshot())));
  expect(parseExposition(text).size).toBeGreaterThan(25);
  expect(check(text)).toEqual({ status: 0, said: '' });
});

test.each(['__proto__', '"quoted" \\ and\nbroken', 'ünï 模型 🙂', '\u0001\t\r'])(
  'a runner called %j is no trouble to it',
  async (name) => {
    const metrics = await worked({ bentomlNames: true }, name);
    expect(check(prometheusText(metrics.snapshot()))).toEqual({ status: 0, said: '' });
  },
);

test('it would say something if there were something', () => {
  expect(check('# HELP a A.\n# TYPE a counter\na 1\n')).toMatchObject({ status: 3 });
  expect(check('a{x="} 1\n').status).not.toBe(0);
});
