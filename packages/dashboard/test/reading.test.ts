import { OUTCOMES as COUNTED } from '@batchwise/metrics';
import { expect, test } from 'vitest';
import { History } from '../src/page/history.js';
import { OUTCOMES, readingOf } from '../src/page/reading.js';
import { Scrape } from '../src/page/scrape.js';

interface Counts {
  readonly ok: number;
  readonly refused: number;
  readonly batches: number;
  readonly rows: number;
}

/** A server with one runner, in the words of /metrics. */
function text({ ok, refused, batches, rows }: Counts): string {
  return `batchwise_requests_total{protocol="http",route="/classify",outcome="ok"} ${ok}
batchwise_requests_total{protocol="http",route="/classify",outcome="refused"} ${refused}
batchwise_requests_total{protocol="http",route="/metrics",outcome="ok"} 1000
batchwise_request_duration_seconds_bucket{protocol="http",route="/classify",outcome="ok",le="0.001"} 0
batchwise_request_duration_seconds_bucket{protocol="http",route="/classify",outcome="ok",le="0.003"} ${ok}
batchwise_request_duration_seconds_bucket{protocol="http",route="/classify",outcome="ok",le="+Inf"} ${ok}
batchwise_request_duration_seconds_sum{protocol="http",route="/classify",outcome="ok"} 1
batchwise_request_duration_seconds_bucket{protocol="http",route="/classify",outcome="refused",le="0.001"} ${100 * refused}
batchwise_request_duration_seconds_bucket{protocol="http",route="/classify",outcome="refused",le="+Inf"} ${100 * refused}
batchwise_request_duration_seconds_bucket{protocol="http",route="/metrics",outcome="ok",le="+Inf"} 5
batchwise_requests_in_flight{protocol="http"} 4
batchwise_requests_in_flight{protocol="grpc"} 2
batchwise_batch_size_bucket{runner="iris",le="1"} 0
batchwise_batch_size_bucket{runner="iris",le="8"} ${batches}
batchwise_batch_size_bucket{runner="iris",le="+Inf"} ${batches}
batchwise_batch_size_sum{runner="iris"} ${rows}
batchwise_batches_total{runner="iris",reason="idle"} ${batches}
batchwise_batches_total{runner="iris",reason="full"} 0
batchwise_refusals_total{runner="iris",cause="queue_full"} ${refused}
batchwise_queue_depth{runner="iris"} 7
batchwise_queue_oldest_seconds{runner="iris"} 0.012
batchwise_batches_running{runner="iris"} 1
batchwise_service_curve_seconds{runner="iris",size="1"} 0.002
batchwise_service_curve_seconds{runner="iris",size="8"} 0.004
batchwise_build_info{version="1.2.3"} 1
batchwise_processes{kind="web"} 2
batchwise_processes{kind="runner"} 1
batchwise_event_loop_lag_seconds{statistic="p99"} 0.003
process_cpu_seconds_total ${ok / 100}
process_resident_memory_bytes 1048576
process_start_time_seconds 1700000000
`;
}

const BEFORE = { ok: 100, refused: 10, batches: 20, rows: 100 };
const AFTER = { ok: 300, refused: 30, batches: 60, rows: 300 };

function between(before: Counts, after: Counts) {
  return readingOf(new Scrape(1000, text(before)), new Scrape(3000, text(after)));
}

test('rates are those of the time between two looks', () => {
  const { requests, runners, server } = between(BEFORE, AFTER);
  expect(requests).toMatchObject({ perSecond: 110, byOutcome: { ok: 100, refused: 10, failed: 0 } });
  expect(requests.times.p50Ms).toBeCloseTo(2);
  expect(runners.get('iris')).toMatchObject({
    rowsPerSecond: 100,
    batchesPerSecond: 20,
    refusedPerSecond: 10,
    meanBatch: 5,
    queued: 7,
    running: 1,
    reasons: new Map([
      ['idle', 40],
      ['full', 0],
    ]),
    curve: new Map([
      [1, 2],
      [8, 4],
    ]),
  });
  expect(runners.get('iris')?.oldestMs).toBeCloseTo(12);
  expect(server).toMatchObject({
    version: '1.2.3',
    startedAt: 1_700_000_000,
    restarts: 0,
    memoryBytes: 2 ** 20,
  });
  expect(server.cpuShare).toBeCloseTo(1);
  expect(server.processes).toEqual(
    new Map([
      ['web', 2],
      ['runner', 1],
    ]),
  );
});

test('it knows every outcome that the server counts', () => {
  // Its modules go to the browser as they are, and can import nothing of the server.
  expect(OUTCOMES).toEqual(COUNTED);
});

test('those who watch are not counted, nor the request for the metrics as one in flight', () => {
  const { requests } = between(BEFORE, BEFORE);
  expect(requests.perSecond).toBe(0);
  expect(requests.times.p50Ms).toBeUndefined();
  expect(requests.inFlight).toBe(5);
});

test('a server that was started again counts from nothing', () => {
  const { requests, runners } = between(AFTER, BEFORE);
  expect(requests.byOutcome.ok).toBe(50);
  expect(runners.get('iris')).toMatchObject({ rowsPerSecond: 50, meanBatch: 5 });
});

test('where nothing happened there are no times', () => {
  expect(between(BEFORE, BEFORE).runners.get('iris')).toMatchObject({
    meanBatch: undefined,
    waits: { p50Ms: undefined },
    runs: { p99Ms: undefined },
  });
});

test('a history has one reading less than looks, and forgets after five minutes', () => {
  const history = new History();
  for (let second = 0; second <= 400; second++) history.add(new Scrape(second * 1000, text(BEFORE)));
  expect(history.readings[0]?.at).toBe(100_000);
  expect(history.latest?.at).toBe(400_000);
  expect(history.within(10_000)).toHaveLength(10);
});

/** How many a second the page tells of, when one a second comes for this route. */
function shownOf(route: string): number {
  const asked = (ok: number) => `batchwise_requests_total{route="${route}",outcome="ok"} ${ok}\n`;
  return readingOf(new Scrape(0, asked(1)), new Scrape(1000, asked(2))).requests.perSecond;
}

test.each(['/', '/classify', '/documents', 'unrouted', 'inference.GRPCInferenceService/ModelInfer'])(
  'a request for %s is shown',
  (route) => expect(shownOf(route)).toBe(1),
);

test.each([
  '/metrics',
  '/readyz',
  '/docs',
  '/dashboard',
  '/v2/health/live',
  '/v2/health/ready',
  'grpc.health.v1.Health/Check',
  'inference.GRPCInferenceService/ServerReady',
])('a request for %s is one of those who watch', (route) => expect(shownOf(route)).toBe(0));
