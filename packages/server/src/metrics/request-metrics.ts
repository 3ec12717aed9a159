/** What the servers of both protocols tell of their requests: that one has begun, and how it ended. */
import { DURATION_BOUNDS } from './buckets.js';
import type { CounterChild } from './counter.js';
import type { GaugeChild } from './gauge.js';
import type { HistogramChild } from './histogram.js';
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

/** How many routes of a protocol are told apart: with all outcomes of both protocols within the bound on label sets. */
const MOST_ROUTES = 64;

export function requestMetrics(registry: Registry): (protocol: Protocol) => RequestMetrics {
  const requests = registry.counter({
    name: 'batchwise_requests_total',
    help: 'Requests that were answered, by outcome.',
    labels: ['protocol', 'route', 'outcome'],
  });
  const durations = registry.histogram({
    name: 'batchwise_request_duration_seconds',
    help: 'From the arrival of a request to its answer.',
    labels: ['protocol', 'route'],
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
    new ProtocolMetrics(inFlight.labels(protocol), (route) => ({
      duration: durations.labels(protocol, route),
      // All from the start: an increase is only seen of what was there before.
      outcomes: Object.fromEntries(
        OUTCOMES.map((outcome) => [outcome, requests.labels(protocol, route, outcome)]),
      ) as Record<Outcome, CounterChild>,
    }));
}

interface RouteMetrics {
  readonly duration: HistogramChild;
  readonly outcomes: Readonly<Record<Outcome, CounterChild>>;
}

class ProtocolMetrics implements RequestMetrics {
  readonly #inFlight: GaugeChild;
  readonly #make: (route: string) => RouteMetrics;
  readonly #routes = new Map<string, RouteMetrics>();
  #requests = 0;

  constructor(inFlight: GaugeChild, make: (route: string) => RouteMetrics) {
    this.#inFlight = inFlight;
    this.#make = make;
    inFlight.set(0);
  }

  started(_route: string): void {
    this.#inFlight.set(++this.#requests);
  }

  ended(route: string, status: number | string, durationMs: number): void {
    this.#inFlight.set(--this.#requests);
    const { duration, outcomes } = this.#routes.get(route) ?? this.#newRoute(route);
    outcomes[outcomeOf(status)].inc();
    duration.observe(durationMs / 1000);
  }

  #newRoute(route: string): RouteMetrics {
    const name = this.#routes.size < MOST_ROUTES ? route : OTHER;
    const known = this.#routes.get(name) ?? this.#make(name);
    this.#routes.set(name, known);
    return known;
  }
}
