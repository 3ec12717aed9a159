/** What the servers of both protocols tell of their requests: that one has begun, and how it ended. */
import { DURATION_BOUNDS } from './buckets.js';
import type { Counter, CounterChild } from './counter.js';
import type { GaugeChild } from './gauge.js';
import type { Histogram, HistogramChild } from './histogram.js';
import { OTHER } from './label-sets.js';
import type { Registry } from './registry.js';
import { OUTCOMES, type Outcome, outcomeOf } from './request-outcome.js';

export type Protocol = 'http' | 'grpc';

export interface RequestMetrics {
  /** A request has come; `route` is the route's label, not the path that was asked for. */
  started(route: string): void;
  /** It has been answered, or its client is gone. `status`: as `outcomeOf` takes it. */
  ended(route: string, status: number | string, durationMs: number): void;
}

/** Of one protocol. */
export interface ProtocolMetrics extends RequestMetrics {
  /** The route is gone: it is not shown any more and makes room for another. */
  forget(route: string): void;
}

/** How many routes of a protocol are told apart: with all outcomes of both protocols within the bound on label sets. */
const MOST_ROUTES = 64;

const LABELS = ['protocol', 'route', 'outcome'] as const;
type Labels = typeof LABELS;

export function requestMetrics(registry: Registry): (protocol: Protocol) => ProtocolMetrics {
  const requests = registry.counter({
    name: 'batchwise_requests_total',
    help: 'Requests that were answered, by outcome.',
    labels: LABELS,
  });
  const durations = registry.histogram({
    name: 'batchwise_request_duration_seconds',
    help: 'From the arrival of a request to its answer.',
    labels: LABELS,
    bounds: DURATION_BOUNDS,
    parts: 1e6,
  });
  const inFlight = registry.gauge({
    name: 'batchwise_requests_in_flight',
    help: 'Requests that have come and are not yet answered.',
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
  /** A histogram is many lines: there is none of an outcome that has never been. */
  readonly #durations: Partial<Record<Outcome, HistogramChild>> = {};
  readonly #durationsOf: (outcome: Outcome) => HistogramChild;

  constructor(requests: Counter<Labels>, durations: Histogram<Labels>, protocol: Protocol, route: string) {
    // All from the start: an increase is only seen of what was there before.
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
    // What is counted together stays together.
    if (route !== OTHER && this.#routes.delete(route)) this.#labels.remove(route);
  }

  #newRoute(route: string): RouteMetrics {
    const name = this.#routes.size < MOST_ROUTES ? route : OTHER;
    const known = this.#routes.get(name) ?? this.#labels.make(name);
    this.#routes.set(name, known);
    return known;
  }
}
