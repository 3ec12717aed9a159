import { ERRORS } from 'batchwise';
import { expect, test } from 'vitest';
import { prometheusText } from '../../src/metrics/prometheus-text.js';
import { Registry } from '../../src/metrics/registry.js';
import { requestMetrics } from '../../src/metrics/request-metrics.js';
import { OUTCOMES, outcomeOf } from '../../src/metrics/request-outcome.js';
import { REQUEST_ERRORS } from '../../src/request-error.js';
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
  ['TOO_LARGE', 'invalid'],
  ['QUEUE_FULL', 'refused'],
  ['HANDLER_FAILED', 'failed'],
  ['DRAINING', 'unavailable'],
  ['toString', 'failed'],
  ['', 'failed'],
])('the outcome of %j is %s', (status, outcome) => {
  expect(outcomeOf(status)).toBe(outcome);
});

test.each(Object.entries({ ...ERRORS, ...REQUEST_ERRORS }))(
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
  for (const status of [200, 200, 429]) {
    http.started('/classify');
    http.ended('/classify', status, 20);
  }
  grpc.started('ModelInfer');
  grpc.ended('ModelInfer', 'UNAVAILABLE', 1);
  const families = read();
  const route = { protocol: 'http', route: '/classify' };
  expect(sampleValue(families, 'batchwise_requests_total', { ...route, outcome: 'ok' })).toBe(2);
  expect(sampleValue(families, 'batchwise_requests_total', { ...route, outcome: 'refused' })).toBe(1);
  expect(sampleValue(families, 'batchwise_request_duration_seconds_sum', route)).toBe(0.06);
  expect(sampleValue(families, 'batchwise_request_duration_seconds_bucket', { ...route, le: '0.01' })).toBe(
    0,
  );
  expect(sampleValue(families, 'batchwise_request_duration_seconds_bucket', { ...route, le: '0.025' })).toBe(
    3,
  );
  const unavailable = { protocol: 'grpc', route: 'ModelInfer', outcome: 'unavailable' };
  expect(sampleValue(families, 'batchwise_requests_total', unavailable)).toBe(1);
});

test('all outcomes of a route are there from its first request on', () => {
  const { requests, read } = observed();
  requests('http').started('/');
  requests('http').ended('/', 200, 1);
  const outcomes = read()
    .get('batchwise_requests_total')
    ?.samples.map(({ labels }) => labels.get('outcome'));
  expect(outcomes).toEqual([...OUTCOMES]);
});

test('what is in flight is what has started and not ended', () => {
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

test('however many routes are made up, few are told apart, and their outcomes are kept', () => {
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
