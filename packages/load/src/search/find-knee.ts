/**
 * The highest Poisson arrival rate that meets a latency target.
 *
 * The rate is doubled until a probe misses the target; the bracket is then narrowed on the logarithm of the rate until
 * its ends are 4 % apart, and the knee between them is confirmed: 5 % below it the target must be met, 5 % above it
 * missed. A contradiction (a stall of the target during one probe) opens the bracket again. All probes draw their
 * arrivals from the same seed: they are the same arrivals, quicker or slower, and differ by the rate alone.
 */
import { type Clock, realClock } from 'batchwise';
import { LoadError } from '../load-error.js';
import type { TargetSpec } from '../targets/target-spec.js';
import { crossing, fittedKnee } from './knee-fit.js';
import { type ProbeSettings, probeRate, type RateProbe, type StartRun } from './rate-probe.js';

export interface KneeOptions {
  readonly startRun: StartRun;
  readonly target: TargetSpec;
  readonly targetLatencyMs: number;
  /** Of all arrivals, how many must be ok within the target from their intended start. @default 0.99 */
  readonly share?: number;
  /** A probe lasts one to eight steps and a warm-up of up to half a step. At least 40 targets. @default 10 */
  readonly secondsPerStep?: number;
  /** The lowest and the highest rate that is tried. @default 10, 100_000 */
  readonly from?: number;
  readonly to?: number;
  /** @default 1 */
  readonly seed?: number;
  /** @default 1 */
  readonly processes?: number;
  readonly clock?: Clock;
  /** Ends the search; the result has what is known at that time. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: KneeProgress) => void;
}

interface SearchSettings extends ProbeSettings {
  readonly from: number;
  readonly to: number;
}

/** Progress before and after a probe. */
export interface KneeProgress {
  /** `trying 400/s`. */
  readonly doing: string;
  /** Of the whole search, from 0 to 1: an estimate. */
  readonly share: number;
  readonly phase: 'bracket' | 'narrow' | 'confirm';
  readonly perSecond: number;
  /** Undefined while the probe runs. */
  readonly probe?: RateProbe;
}

export type KneeKind =
  | 'found'
  /** Even the lowest rate misses the target. */
  | 'below'
  /** The highest rate still meets the target. */
  | 'above'
  /** The generator could not send more: the knee is at least as high. */
  | 'generator'
  /** Ended by the signal. */
  | 'stopped';

export interface Knee {
  readonly kind: KneeKind;
  /** The highest rate that meets the target, as far as it is known; undefined where no rate met it. */
  readonly rate?: number;
  /**
   * From the highest rate that clearly met the target to the lowest that clearly missed it, and at least 5 % to each
   * side: searches with other seeds differ by that much.
   */
  readonly interval?: readonly [low: number, high: number];
  /** Whether the target was met 5 % below the knee, and missed 5 % above it. */
  readonly isConfirmed: boolean;
  /** Of `generator`: what limited it. */
  readonly limit?: string;
  readonly target: string;
  readonly targetLatencyMs: number;
  readonly share: number;
  readonly from: number;
  readonly to: number;
  readonly seed: number;
  /** In the order in which they were made. */
  readonly probes: readonly RateProbe[];
}

/** The ends of the bracket are at most this far apart when the knee is read off. */
const NARROW = 1.04;
const CONFIRM = 1.05;
/** A clear verdict so near to the knee needs no confirming probe. */
const CONFIRMED = 1.051;
/** Contradictions after which the target is taken to be as unsteady as the interval says. */
const MOST_ROUNDS = 4;
const MOST_PROBES = 60;

export async function findKnee(options: KneeOptions): Promise<Knee> {
  const settings: SearchSettings = {
    share: 0.99,
    secondsPerStep: 10,
    seed: 1,
    clock: realClock,
    from: 10,
    to: 100_000,
    ...options,
  };
  checkSettings(settings);
  return new KneeSearch(settings, options.onProgress).find();
}

function checkSettings(settings: SearchSettings): void {
  const { targetLatencyMs, share, secondsPerStep, from, to } = settings;
  const expected = (name: string, what: string, came: number) =>
    new LoadError('INVALID_OPTION', `${name}: expected ${what}, got ${came}.`);
  if (!(targetLatencyMs > 0 && Number.isFinite(targetLatencyMs)))
    throw expected('targetLatencyMs', 'milliseconds above 0', targetLatencyMs);
  if (!(share > 0 && share < 1)) throw expected('share', 'a number between 0 and 1', share);
  if (!(secondsPerStep >= 1 && Number.isFinite(secondsPerStep))) {
    throw expected('secondsPerStep', 'at least 1', secondsPerStep);
  }
  if (!(from > 0 && Number.isFinite(from))) throw expected('from', 'a rate above 0', from);
  if (!(to >= from && Number.isFinite(to))) throw expected('to', `a rate of at least ${from}`, to);
}

/** The search is over before its end. */
class Stopped extends Error {}

class KneeSearch {
  readonly #settings: SearchSettings;
  readonly #onProgress: ((progress: KneeProgress) => void) | undefined;
  readonly #probes: RateProbe[] = [];
  /** Those of them that are not of the first bracket. */
  readonly #long: RateProbe[] = [];

  constructor(settings: SearchSettings, onProgress: ((progress: KneeProgress) => void) | undefined) {
    this.#settings = settings;
    this.#onProgress = onProgress;
  }

  async find(): Promise<Knee> {
    try {
      return await this.#search();
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return this.#knee('stopped', this.#highestMet(Number.POSITIVE_INFINITY)?.perSecond);
    }
  }

  async #search(): Promise<Knee> {
    const { from } = this.#settings;
    let met = await this.#probe('bracket', from);
    // The first probe also warms the target up: that it misses is no verdict yet.
    if (!met.meets) met = await this.#probe('bracket', from);
    if (!met.meets) return this.#below(met);
    let missed = await this.#doubled(met);
    for (let round = 1; ; round++) {
      if (missed === undefined) return this.#knee('above', this.#settings.to);
      [met, missed] = await this.#narrowed(met, missed);
      const perSecond = fittedKnee(this.#probes, met, missed, this.#settings.share);
      const contradiction = await this.#contradiction(perSecond);
      if (contradiction === undefined || round === MOST_ROUNDS || this.#probes.length >= MOST_PROBES) {
        return this.#end(met, missed, contradiction === undefined);
      }
      if (contradiction.meets) {
        met = contradiction;
        missed = this.#lowestMissed(met.perSecond) ?? (await this.#doubled(met));
      } else {
        missed = contradiction;
        const lower = this.#highestMet(missed.perSecond);
        if (lower === undefined) return this.#below(missed);
        met = lower;
      }
    }
  }

  #below(lowest: RateProbe): Knee {
    const limit = lowest.generatorLimit;
    return limit === undefined ? this.#knee('below', undefined) : this.#knee('generator', undefined, limit);
  }

  #end(met: RateProbe, missed: RateProbe, isConfirmed: boolean): Knee {
    const limit = missed.generatorLimit;
    if (limit !== undefined) return this.#knee('generator', met.perSecond, limit);
    // Once more, with the confirming probes.
    const perSecond = fittedKnee(this.#probes, met, missed, this.#settings.share);
    return { ...this.#knee('found', perSecond), isConfirmed };
  }

  /** The first rate that misses the target, doubling; undefined where the highest rate meets it. */
  async #doubled(met: RateProbe): Promise<RateProbe | undefined> {
    const { to } = this.#settings;
    for (let rate = met.perSecond; rate < to; ) {
      rate = Math.min(2 * rate, to);
      const probe = await this.#probe('bracket', rate);
      if (!probe.meets) return probe;
    }
    return undefined;
  }

  async #narrowed(met: RateProbe, missed: RateProbe): Promise<[RateProbe, RateProbe]> {
    let [low, high] = [this.#highestMet(missed.perSecond) ?? met, missed];
    while (high.perSecond / low.perSecond > NARROW) {
      const probe = await this.#probe('narrow', nextRate(low, high, this.#settings.share));
      if (probe.meets) low = probe;
      else high = probe;
    }
    return [low, high];
  }

  /**
   * The probe below the knee that misses the target, or the one above it that meets it. A stall makes a target miss but
   * never meet: a clear long probe below is enough, the miss above is always tried again.
   */
  async #contradiction(perSecond: number): Promise<RateProbe | undefined> {
    const { from, to } = this.#settings;
    const met = this.#long.some(
      (probe) =>
        probe.meets &&
        probe.isClear &&
        probe.perSecond <= perSecond &&
        probe.perSecond * CONFIRMED >= perSecond,
    );
    if (!met) {
      const below = await this.#probe('confirm', Math.max(from, perSecond / CONFIRM));
      if (!below.meets) return below;
    }
    const above = await this.#probe('confirm', Math.min(to, perSecond * CONFIRM));
    return above.meets && above.perSecond < to ? above : undefined;
  }

  /** Ends at clear verdicts where there are any, else at the ends of the search. */
  #interval(perSecond: number): readonly [number, number] {
    const { from, to } = this.#settings;
    const clear = this.#probes.filter(({ isClear }) => isClear);
    const met = clear.filter((probe) => probe.meets && probe.perSecond <= perSecond);
    const missed = clear.filter((probe) => !probe.meets && probe.perSecond >= perSecond);
    return [
      Math.max(Math.min(from, perSecond), ...met.map((probe) => probe.perSecond)),
      Math.min(Math.max(to, perSecond), ...missed.map((probe) => probe.perSecond)),
    ];
  }

  #widened(perSecond: number): readonly [number, number] {
    const [low, high] = this.#interval(perSecond);
    return [Math.min(low, perSecond / CONFIRM), Math.max(high, perSecond * CONFIRM)];
  }

  #highestMet(below: number): RateProbe | undefined {
    return this.#probes
      .filter((probe) => probe.meets && probe.perSecond < below)
      .reduce<RateProbe | undefined>(
        (best, one) => (one.perSecond > (best?.perSecond ?? 0) ? one : best),
        undefined,
      );
  }

  #lowestMissed(above: number): RateProbe | undefined {
    return this.#probes
      .filter((probe) => !probe.meets && probe.perSecond > above)
      .reduce<RateProbe | undefined>(
        (best, one) => (one.perSecond < (best?.perSecond ?? Number.POSITIVE_INFINITY) ? one : best),
        undefined,
      );
  }

  async #probe(phase: KneeProgress['phase'], perSecond: number): Promise<RateProbe> {
    const { signal } = this.#settings;
    if (signal?.aborted) throw new Stopped();
    const doing = `trying ${Number(perSecond.toPrecision(3))}/s`;
    const progress = { doing, share: this.#progress(phase), phase, perSecond };
    this.#onProgress?.(progress);
    const probe = await probeRate(perSecond, this.#settings, phase !== 'bracket');
    // A probe that was cut short is no verdict.
    if (signal?.aborted) throw new Stopped();
    this.#probes.push(probe);
    if (phase !== 'bracket') this.#long.push(probe);
    this.#onProgress?.({ ...progress, probe });
    return probe;
  }

  /** How many probes a search takes is not known before: each makes up for a part of what is left of its phase. */
  #progress(phase: KneeProgress['phase']): number {
    const long = this.#long.length;
    if (phase === 'bracket') return long > 0 ? 0.9 : 0.3 * (1 - 0.8 ** this.#probes.length);
    return phase === 'narrow' ? 0.3 + 0.5 * (1 - 0.7 ** long) : 0.9;
  }

  #knee(kind: KneeKind, rate: number | undefined, limit?: string): Knee {
    const { target, targetLatencyMs, share, from, to, seed } = this.#settings;
    const interval = kind === 'found' && rate !== undefined ? this.#widened(rate) : undefined;
    return {
      kind,
      ...(rate !== undefined && { rate }),
      ...(interval !== undefined && { interval }),
      isConfirmed: false,
      ...(limit !== undefined && { limit }),
      target: target.url,
      targetLatencyMs,
      share,
      from,
      to,
      seed,
      probes: this.#probes,
    };
  }
}

/** The secant of the log odds of a miss over the log rate; the middle where one end is far from the border. */
function nextRate(low: RateProbe, high: RateProbe, share: number): number {
  const middle = Math.sqrt(low.perSecond * high.perSecond);
  if (high.shareWithin < 0.5) return middle;
  const span = Math.log(high.perSecond / low.perSecond);
  const at = Math.log(crossing(low, high, share) / low.perSecond) / span;
  // Never so near to an end that the bracket hardly becomes narrower.
  return low.perSecond * Math.exp(span * Math.min(0.75, Math.max(0.25, at)));
}
