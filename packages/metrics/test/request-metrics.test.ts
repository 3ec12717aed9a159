import { ERRORS } from 'batchwise';
import { expect, test } from 'vitest';
import { prometheusText } from '../src/prometheus-text.js';
import { Registry } from '../src/registry.js';
import { requestMetrics } from '../src/request-metrics.js';
import { OUTCOMES, outcomeOf } from '../src/request-outcome.js';
import { parseExposition, sampleValue } from './support/exposition.js';

test.each([
  [200, 'ok'],
  [204, 'ok'],
  [304, 'ok'],
  [400, 'invalid'],
  [404, 'invalid'],
  [408, 'late'],
  [413, 'invalid'],
  [429, 'refused'],
  [499, 'cancelled'],
  [500, 'failed'],
  [501, 'failed'],
  [503, 'unavailable'],
  [504, 'late'],
  [0, 'ok'],
  [1, 'cancelled'],
  [8, 'refused'],
  [13, 'failed'],
  [14, 'unavailable'],
  [17, 'failed'],
  [-1, 'failed'],
  [Number.NaN, 'failed'],
  ['OK', 'ok'],
  ['RESOURCE_EXHAUSTED', 'refused'],
  ['DEADLINE_EXCEEDED', 'late'],
  ['UNIMPLEMENTED', 'invalid'],
  ['DATA_LOSS', 'failed'],
  ['QUEUE_FULL', 'refused'],
  ['HANDLER_FAILED', 'failed'],
  ['CLOSED', 'unavailable'],
  ['toString', 'failed'],
  ['', 'failed'],
])('the outcome of %j is %s', (status, outcome) => {
  expect(outcomeOf(status)).toBe(outcome);
});

test.each(Object.entries(ERRORS))(
  'the code %s has the outcome of its HTTP status',
  (code, { httpStatus }) => {
    expect(outcomeOf(code)).toBe(outcomeOf(httpStatus));
  },
);

test.each(Object.entries(ERRORS))(
  'the code %s has the outcome of its gRPC status',
  (code, { grpcStatus }) => {
    expect(outcomeOf(code)).toBe(outcomeOf(grpcStatus));
  },
);

function observed() {
  const registry = new Registry();
  const requests = requestMetrics(registry);
  return { requests, read: () => parseExposition(prometheusText(registry.snapshot())) };
}

test('requests are counted by protocol, route and outcome, with their durations', () => {
  const { requests, read } = observed();
  const [http, grpc] = [requests('http'), requests('grpc')];
  for (const [status, durationMs] of [
    [200, 20],
    [200, 20],
    [429, 1],
  ] as const) {
    http.started('/classify');
    http.ended('/classify', status, durationMs);
  }
  grpc.started('ModelInfer');
  grpc.ended('ModelInfer', 'UNAVAILABLE', 1);
  const families = read();
  const route = { protocol: 'http', route: '/classify' };
  expect(sampleValue(families, 'batchwise_requests_total', { ...route, outcome: 'ok' })).toBe(2);
  expect(sampleValue(families, 'batchwise_requests_total', { ...route, outcome: 'refused' })).toBe(1);
  const ofOutcome = (part: string, outcome: string, le?: string) =>
    sampleValue(families, `batchwise_request_duration_seconds_${part}`, {
      ...{ ...route, outcome },
      ...(le && { le }),
    });
  expect(ofOutcome('sum', 'ok')).toBe(0.04);
  expect(ofOutcome('bucket', 'ok', '0.01')).toBe(0);
  expect(ofOutcome('bucket', 'ok', '0.025')).toBe(2);
  expect(ofOutcome('sum', 'refused')).toBe(0.001);
  expect(ofOutcome('sum', 'failed')).toBeUndefined();
  const unavailable = { protocol: 'grpc', route: 'ModelInfer', outcome: 'unavailable' };
  expect(sampleValue(families, 'batchwise_requests_total', unavailable)).toBe(1);
});

test('all outcomes of a route exist from its first request', () => {
  const { requests, read } = observed();
  requests('http').started('/');
  requests('http').ended('/', 200, 1);
  const outcomes = read()
    .get('batchwise_requests_total')
    ?.samples.map(({ labels }) => labels.get('outcome'));
  expect(outcomes).toEqual([...OUTCOMES]);
});

test('requests in flight are those started and not ended', () => {
  const { requests, read } = observed();
  const http = requests('http');
  const inFlight = () => sampleValue(read(), 'batchwise_requests_in_flight', { protocol: 'http' });
  expect(inFlight()).toBe(0);
  http.started('/a');
  http.started('/b');
  expect(inFlight()).toBe(2);
  http.ended('/b', 200, 1);
  http.ended('/a', 499, 1);
  expect(inFlight()).toBe(0);
});

test('the number of routes is limited, and all outcomes are counted', () => {
  const { requests, read } = observed();
  for (const protocol of ['http', 'grpc'] as const) {
    const metrics = requests(protocol);
    for (let i = 0; i < 5000; i++) metrics.ended(`/made-up/${i}`, i % 2 === 0 ? 404 : 200, 1);
  }
  const families = read();
  const { samples = [] } = families.get('batchwise_requests_total') ?? {};
  expect(samples.length).toBeLessThan(1000);
  expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(10_000);
  const other = { protocol: 'grpc', route: 'other', outcome: 'invalid' };
  expect(sampleValue(families, 'batchwise_requests_total', other)).toBe(2500 - 32);
});

test('forgetting a route frees its place, only for its protocol', () => {
  const { requests, read } = observed();
  const [http, grpc] = [requests('http'), requests('grpc')];
  http.ended('/0', 200, 1);
  for (let i = 0; i < 100; i++) grpc.ended(`/${i}`, 0, 1);
  for (const route of ['/0', '/1', '/99', 'other', '/unknown']) grpc.forget(route);
  grpc.ended('/new', 0, 1);
  const families = read();
  const ok = (protocol: string, route: string) =>
    sampleValue(families, 'batchwise_requests_total', { protocol, route, outcome: 'ok' });
  expect(['/0', '/1', '/2', '/new', 'other'].map((route) => ok('grpc', route))).toEqual([
    undefined,
    undefined,
    1,
    1,
    36,
  ]);
  expect(ok('http', '/0')).toBe(1);
  const duration = { protocol: 'grpc', route: '/0', outcome: 'ok' };
  expect(sampleValue(families, 'batchwise_request_duration_seconds_count', duration)).toBeUndefined();
});
