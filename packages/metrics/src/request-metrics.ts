/** Request metrics of both protocols: start and end of each request. */
import { DURATION_BOUNDS } from './buckets.js';
import type { Counter, CounterChild } from './counter.js';
import type { GaugeChild } from './gauge.js';
import type { Histogram, HistogramChild } from './histogram.js';
import { OTHER } from './label-sets.js';
import type { Registry } from './registry.js';
import { OUTCOMES, type Outcome, outcomeOf } from './request-outcome.js';

export type Protocol = 'http' | 'grpc';

export interface RequestMetrics {
  /** A request has arrived. `route` is the label of the route, not the path of the request. */
  started(route: string): void;
  /** The request was answered, or its client has disconnected. `status` is an argument of `outcomeOf`. */
  ended(route: string, status: number | string, durationMs: number): void;
}

/** The request metrics of one protocol. */
export interface ProtocolMetrics extends RequestMetrics {
  /** Removes a route from the metrics and frees its place. */
  forget(route: string): void;
}

/**
 * The maximum number of routes per protocol. With all outcomes of both protocols it stays within the limit on label
 * sets.
 */
const MAX_ROUTES = 64;

const LABELS = ['protocol', 'route', 'outcome'] as const;
type Labels = typeof LABELS;

export function requestMetrics(registry: Registry): (protocol: Protocol) => ProtocolMetrics {
  const requests = registry.counter({
    name: 'batchwise_requests_total',
    help: 'Completed requests, by outcome.',
    labels: LABELS,
  });
  const durations = registry.histogram({
    name: 'batchwise_request_duration_seconds',
    help: 'Latency of a request, from arrival to response.',
    labels: LABELS,
    bounds: DURATION_BOUNDS,
    parts: 1e6,
  });
  const inFlight = registry.gauge({
    name: 'batchwise_requests_in_flight',
    help: 'Requests in flight.',
    labels: ['protocol'],
    rule: 'sum',
  });
  return (protocol) =>
    new RouteTable(inFlight.labels(protocol), {
      make: (route) => new RouteMetrics(requests, durations, protocol, route),
      remove: (route) => {
        durations.remove({ protocol, route });
        requests.remove({ protocol, route });
      },
    });
}

class RouteMetrics {
  readonly #requests: Readonly<Record<Outcome, CounterChild>>;
  /** Created with the first request of an outcome, because a histogram has many lines. */
  readonly #durations: Partial<Record<Outcome, HistogramChild>> = {};
  readonly #durationsOf: (outcome: Outcome) => HistogramChild;

  constructor(requests: Counter<Labels>, durations: Histogram<Labels>, protocol: Protocol, route: string) {
    // All outcomes exist from the start: Prometheus detects an increase only for an existing series.
    const counters = OUTCOMES.map((outcome) => [outcome, requests.labels(protocol, route, outcome)]);
    this.#requests = Object.fromEntries(counters);
    this.#durationsOf = (outcome) => durations.labels(protocol, route, outcome);
  }

  ended(outcome: Outcome, durationMs: number): void {
    this.#requests[outcome].inc();
    this.#durations[outcome] ??= this.#durationsOf(outcome);
    this.#durations[outcome].observe(durationMs / 1000);
  }
}

interface RouteLabels {
  make(route: string): RouteMetrics;
  remove(route: string): void;
}

class RouteTable implements ProtocolMetrics {
  readonly #inFlight: GaugeChild;
  readonly #labels: RouteLabels;
  readonly #routes = new Map<string, RouteMetrics>();
  #requests = 0;

  constructor(inFlight: GaugeChild, labels: RouteLabels) {
    this.#inFlight = inFlight;
    this.#labels = labels;
    inFlight.set(0);
  }

  started(_route: string): void {
    this.#inFlight.set(++this.#requests);
  }

  ended(route: string, status: number | string, durationMs: number): void {
    this.#inFlight.set(--this.#requests);
    const metrics = this.#routes.get(route) ?? this.#newRoute(route);
    metrics.ended(outcomeOf(status), durationMs);
  }

  forget(route: string): void {
    // The shared route `other` is never removed.
    if (route !== OTHER && this.#routes.delete(route)) this.#labels.remove(route);
  }

  #newRoute(route: string): RouteMetrics {
    const name = this.#routes.size < MAX_ROUTES ? route : OTHER;
    const known = this.#routes.get(name) ?? this.#labels.make(name);
    this.#routes.set(name, known);
    return known;
  }
}
