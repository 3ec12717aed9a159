/** Reports of runs that never took place: scripted outcomes, recorded and added up as those of a real run. */
import type { LoadReport, RunState, TrafficFacts } from '../../src/report/load-report.js';
import { makeReport } from '../../src/report/make-report.js';
import { Recorder } from '../../src/statistics/interval.js';
import { Statistics } from '../../src/statistics/statistics.js';
import type { Outcome } from '../../src/targets/target.js';

export interface ScriptedRequest {
  /** @default 'POST /classify' */
  readonly name?: string;
  /** From the actual start. */
  readonly ms: number;
  /** Between the intended and the actual start. @default 0 */
  readonly lateMs?: number;
  /** @default an ok one of 100 bytes */
  readonly outcome?: Partial<Outcome>;
}

export interface Script {
  /** The requests that end in each second. */
  readonly seconds: readonly (readonly ScriptedRequest[])[];
  readonly target?: string;
  /** @default 10 users */
  readonly traffic?: TrafficFacts;
  readonly targetLatencyMs?: number;
  readonly state?: RunState;
  readonly processes?: number;
  readonly users?: (second: number) => number;
  readonly inFlight?: (second: number) => number;
  readonly cpuShare?: number;
  readonly eventLoopMs?: number;
  /** Arrivals of an open model: by default as many as there are requests. */
  readonly notSent?: (second: number) => number;
  /** @default as many as are scripted */
  readonly lasted?: number;
}

export function scriptedReport(script: Script): LoadReport {
  const { seconds, targetLatencyMs, users = () => 10, inFlight = () => 3 } = script;
  const { traffic = { kind: 'users', users: 10, spawnRate: 5, waitTime: '0.01 s to 2 s' } } = script;
  const statistics = new Statistics();
  const recorder = new Recorder(targetLatencyMs);
  seconds.forEach((requests, second) => {
    for (const { name = 'POST /classify', ms, lateMs = 0, outcome } of requests) {
      recorder.record(
        name,
        { kind: 'ok', responseBytes: 100, ...outcome },
        { intendedAt: 0, sentAt: lateMs, endedAt: lateMs + ms },
      );
      if (traffic.kind === 'arrivals') recorder.arrivalSent();
    }
    for (let i = script.notSent?.(second) ?? 0; i > 0; i--) recorder.arrivalNotSent(0);
    statistics.add(
      recorder.take(second, {
        users: traffic.kind === 'users' ? users(second) : 0,
        inFlight: inFlight(second),
        connections: 4,
        cpuShare: script.cpuShare ?? 0.31,
        eventLoopMs: script.eventLoopMs ?? 4,
      }),
    );
  });
  return makeReport(statistics, {
    state: script.state ?? 'ended',
    startedAt: new Date('2026-01-02T03:04:05.678Z'),
    seconds: script.lasted ?? seconds.length,
    target: script.target ?? 'http://localhost:3000/classify',
    traffic,
    targetLatencyMs,
    processes: script.processes ?? 1,
  });
}

/** A minute of a batching server under growing load: batches grow, a stall in the middle, rejections near the end. */
export function busyMinute(): LoadReport {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const seconds = Array.from({ length: 60 }, (_, second) => {
    const load = second / 60;
    return Array.from({ length: Math.round(40 + 160 * load) }, (): ScriptedRequest => {
      const batchSize = 1 + Math.floor(random() * (2 + 30 * load));
      const queueMs = 1 + 20 * load * random();
      const computeMs = 5 + 0.6 * batchSize;
      const isStalled = second === 30 && random() < 0.5;
      const name = random() < 0.8 ? 'POST /classify' : 'GET /labels';
      if (random() < 0.004) return { name, ms: 2, outcome: { kind: 'failed', reason: 'ECONNRESET' } };
      if (second > 45 && random() < 0.06) {
        return { name, ms: 1, outcome: { kind: 'rejected', reason: '429 Too Many Requests' } };
      }
      return {
        name,
        ms: queueMs + computeMs + 0.5 + random() + (isStalled ? 400 : 0) - 8 * Math.log(1 - random()),
        lateMs: isStalled ? 700 * random() : random(),
        outcome: { batchSize, queueMs, computeMs, responseBytes: 240 },
      };
    });
  });
  return scriptedReport({
    seconds,
    targetLatencyMs: 50,
    traffic: { kind: 'arrivals', text: 'ramp 40/s to 200/s', perSecond: 120 },
    inFlight: (second) => Math.round(2 + second / 6),
    notSent: (second) => (second === 30 ? 25 : 0),
  });
}
