/** Service times of the batches of a scenario: curve, noise and faults. */
import type { Curve } from './curve.js';
import { lognormal, type Random, randomStream } from './random.js';
import type { Scenario } from './scenario.js';

interface ServiceTime {
  readonly durationMs: number;
  /** The batch hangs: its callers time out. */
  readonly hangs: boolean;
}

export class ServiceTimes {
  readonly #scenario: Scenario;
  readonly #noise: Random;
  readonly #tail: Random;
  #hangs: number;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#noise = randomStream(scenario.seed, 'service');
    this.#tail = randomStream(scenario.seed, 'tail');
    this.#hangs = scenario.hang === undefined ? 0 : 1;
  }

  /** The service time of a batch that starts now. The random streams advance per batch: common random numbers. */
  next(cost: number, startedAt: number, curve: Curve = this.#scenario.curve): ServiceTime {
    const { noise, hang, stalls = [] } = this.#scenario;
    let durationMs = curve.durationMs(cost);
    if (noise > 0) durationMs *= lognormal(this.#noise, noise);
    durationMs *= this.#tailFactor() * this.#slowness(startedAt);
    // A stall suspends the batches of all slots.
    for (const { atMs, ms } of stalls) {
      if (startedAt >= atMs && startedAt < atMs + ms) durationMs += atMs + ms - startedAt;
      else if (startedAt < atMs && startedAt + durationMs > atMs) durationMs += ms;
    }
    const hangs = this.#hangs > 0 && hang !== undefined && startedAt >= hang.atMs;
    if (hangs) this.#hangs -= 1;
    return { durationMs: hangs ? hang.ms : durationMs, hangs };
  }

  /** A factor with mean 1. */
  #tailFactor(): number {
    const { tail } = this.#scenario;
    if (tail === undefined) return 1;
    const draw = this.#tail();
    if (tail.kind === 'pareto') return ((tail.alpha - 1) / tail.alpha) * (1 - draw) ** (-1 / tail.alpha);
    const isOutlier = draw < tail.share;
    return (isOutlier ? tail.factor : 1) / (1 + tail.share * (tail.factor - 1));
  }

  #slowness(at: number): number {
    const { slowdown } = this.#scenario;
    if (slowdown === undefined || at < slowdown.atMs) return 1;
    const { atMs, factor, overMs = 0 } = slowdown;
    return at >= atMs + overMs ? factor : factor ** ((at - atMs) / overMs);
  }
}
