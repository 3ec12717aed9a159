/** What the requests of one name came to, in a second or in the whole run. Tallies of several processes add up exactly. */
import type { Outcome } from '../targets/target.js';
import { type EncodedHistogram, Histogram } from './histogram.js';

/** Of a size of batches: how many requests were in one, and the sums of their times in milliseconds. */
export interface SizeTally {
  requests: number;
  latencyMs: number;
  queueMs: number;
  computeMs: number;
}

/** When a request was to be sent, was sent, and ended, on one clock, in milliseconds. */
export interface Times {
  readonly intendedAt: number;
  readonly sentAt: number;
  readonly endedAt: number;
}

/** A target with more sizes or reasons than this is out to fill memory: what is beyond is counted together. */
const MOST_SIZES = 4096;
const MOST_REASONS = 1000;
const OTHER_REASONS = 'other reasons';

/** A name has histograms, of a second and of the run: 190 KB each. Paths with ids in them are as many names. */
const MOST_NAMES = 200;
const OTHER_NAMES = 'other names';

/** The tally of a name; beyond so many names, one for all others. */
export function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const known = tallies.get(name);
  if (known !== undefined) return known;
  if (tallies.size >= MOST_NAMES && name !== OTHER_NAMES) return tallyOf(tallies, OTHER_NAMES);
  const tally = new Tally();
  tallies.set(name, tally);
  return tally;
}

export class Tally {
  ok = 0;
  rejected = 0;
  failed = 0;
  /** Ok, and within the target latency from the intended start. All that are ok where there is no target. */
  good = 0;
  responseBytes = 0;
  /** Of requests that are ok: from the actual start, and from the intended one. */
  readonly latency = new Histogram();
  readonly intended = new Histogram();
  /** Of rejected and failed requests, from the actual start. */
  readonly others = new Histogram();
  /** Of requests that are ok and whose response says how long they were queued and computed. */
  readonly network = new Histogram();
  readonly queue = new Histogram();
  readonly compute = new Histogram();
  readonly sizes = new Map<number, SizeTally>();
  readonly rejectedFor = new Map<string, number>();
  readonly failedFor = new Map<string, number>();

  get count(): number {
    return this.ok + this.rejected + this.failed;
  }

  record(
    outcome: Outcome,
    { intendedAt, sentAt, endedAt }: Times,
    targetLatencyMs: number | undefined,
  ): void {
    const ms = endedAt - sentAt;
    this.responseBytes += outcome.responseBytes;
    if (outcome.kind !== 'ok') {
      this.others.record(ms);
      this[outcome.kind]++;
      count(outcome.kind === 'failed' ? this.failedFor : this.rejectedFor, outcome.reason ?? 'no reason', 1);
      return;
    }
    const intendedMs = endedAt - intendedAt;
    this.ok++;
    if (targetLatencyMs === undefined || intendedMs <= targetLatencyMs) this.good++;
    this.latency.record(ms);
    this.intended.record(intendedMs);
    const { batchSize, queueMs, computeMs } = outcome;
    if (queueMs !== undefined && computeMs !== undefined) {
      this.queue.record(queueMs);
      this.compute.record(computeMs);
      this.network.record(Math.max(0, ms - queueMs - computeMs));
    }
    if (batchSize !== undefined) {
      this.#addSize(batchSize, 1, ms, queueMs ?? 0, computeMs ?? 0);
    }
  }

  add(other: Tally): void {
    this.ok += other.ok;
    this.rejected += other.rejected;
    this.failed += other.failed;
    this.good += other.good;
    this.responseBytes += other.responseBytes;
    this.latency.add(other.latency);
    this.intended.add(other.intended);
    this.others.add(other.others);
    this.network.add(other.network);
    this.queue.add(other.queue);
    this.compute.add(other.compute);
    for (const [size, { requests, latencyMs, queueMs, computeMs }] of other.sizes) {
      this.#addSize(size, requests, latencyMs, queueMs, computeMs);
    }
    for (const [reason, times] of other.rejectedFor) count(this.rejectedFor, reason, times);
    for (const [reason, times] of other.failedFor) count(this.failedFor, reason, times);
  }

  #addSize(size: number, requests: number, latencyMs: number, queueMs: number, computeMs: number): void {
    let known = this.sizes.get(size);
    if (known === undefined) {
      if (this.sizes.size >= MOST_SIZES) return;
      known = { requests: 0, latencyMs: 0, queueMs: 0, computeMs: 0 };
      this.sizes.set(size, known);
    }
    known.requests += requests;
    known.latencyMs += latencyMs;
    known.queueMs += queueMs;
    known.computeMs += computeMs;
  }

  encode(): EncodedTally {
    return {
      counts: [this.ok, this.rejected, this.failed, this.good, this.responseBytes],
      histograms: [this.latency, this.intended, this.others, this.network, this.queue, this.compute].map(
        (histogram) => histogram.encode() ?? null,
      ),
      sizes: [...this.sizes],
      rejectedFor: [...this.rejectedFor],
      failedFor: [...this.failedFor],
    };
  }

  static decode(encoded: EncodedTally): Tally {
    const tally = new Tally();
    const [ok, rejected, failed, good, responseBytes] = encoded.counts;
    Object.assign(tally, { ok, rejected, failed, good, responseBytes });
    const { latency, intended, others, network, queue, compute } = tally;
    for (const [i, histogram] of [latency, intended, others, network, queue, compute].entries()) {
      histogram.add(Histogram.decode(encoded.histograms[i] ?? undefined));
    }
    for (const [size, sums] of encoded.sizes) tally.sizes.set(size, { ...sums });
    for (const [reason, times] of encoded.rejectedFor) tally.rejectedFor.set(reason, times);
    for (const [reason, times] of encoded.failedFor) tally.failedFor.set(reason, times);
    return tally;
  }
}

/** As it is sent between processes: survives JSON. */
export interface EncodedTally {
  readonly counts: readonly [
    ok: number,
    rejected: number,
    failed: number,
    good: number,
    responseBytes: number,
  ];
  readonly histograms: readonly (EncodedHistogram | null)[];
  readonly sizes: readonly (readonly [number, SizeTally])[];
  readonly rejectedFor: readonly (readonly [string, number])[];
  readonly failedFor: readonly (readonly [string, number])[];
}

function count(counts: Map<string, number>, reason: string, times: number): void {
  const key = counts.has(reason) || counts.size < MOST_REASONS ? reason : OTHER_REASONS;
  counts.set(key, (counts.get(key) ?? 0) + times);
}
