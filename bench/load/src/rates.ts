/** Whether arrivals are sent at the rate that was asked for. */
import {
  type Effort,
  type FigureResult,
  medianText,
  type Say,
  takeTurns,
  within,
} from '@batchwise/bench-harness';
import type { LoadReport } from '@batchwise/load';
import type { BatchwiseLoad } from './batchwise-load.js';
import { GeneratorProcess, nodeCommand } from './generator-process.js';
import { type NativeServer, withServer } from './native-server.js';

const KINDS = ['constant', 'poisson'] as const;
const RATES = [100, 1000, 5000, 10_000];
const MAX_IN_FLIGHT = 10_000;

interface Achieved {
  readonly achievedShare: number;
  readonly serverShare: number;
  readonly notSent: number;
  readonly failed: number;
  /** From the intended to the actual start, at the 99th percentile of both latencies. */
  readonly intendedP99Ms: number;
  readonly p99Ms: number;
  readonly cpuShare: number;
}

export async function measureRates(effort: Effort, say: Say): Promise<FigureResult> {
  const loads = KINDS.flatMap((kind) => RATES.map((perSecond) => ({ kind, perSecond })));
  const nameOf = ({ kind, perSecond }: (typeof loads)[number]) =>
    `${kind} ${perSecond.toLocaleString('en')}/s`;
  const results = await withServer((server) =>
    takeTurns(
      Object.fromEntries(loads.map((load) => [nameOf(load), () => achieved(server, load, effort)])),
      effort.rounds,
      say,
    ),
  );
  const of = (name: string, pick: (achieved: Achieved) => number) => (results[name] ?? []).map(pick);
  return {
    tables: [
      {
        head: ['', 'at the server ÷ due', 'not sent', 'failed', 'p99 ms', 'intended p99 ms', 'CPU'],
        rows: loads.map(nameOf).map((name) => [
          name,
          medianText(
            of(name, ({ serverShare }) => serverShare),
            4,
          ),
          medianText(
            of(name, ({ notSent }) => notSent),
            0,
          ),
          medianText(
            of(name, ({ failed }) => failed),
            0,
          ),
          medianText(
            of(name, ({ p99Ms }) => p99Ms),
            2,
          ),
          medianText(
            of(name, ({ intendedP99Ms }) => intendedP99Ms),
            2,
          ),
          medianText(
            of(name, ({ cpuShare }) => cpuShare),
            2,
          ),
        ]),
      },
    ],
    verdicts: loads.map(nameOf).map((name) => ({
      label: `${name}: achieved ÷ requested`,
      samples: of(name, ({ achievedShare }) => achievedShare),
      digits: 4,
      goal: within(0.99, 1.01),
    })),
    notes: [],
    raw: results,
  };
}

async function achieved(
  server: NativeServer,
  schedule: { readonly kind: (typeof KINDS)[number]; readonly perSecond: number },
  { timedMs }: Effort,
): Promise<Achieved> {
  const seconds = timedMs / 1000;
  const before = await server.counts();
  const load: BatchwiseLoad = {
    url: server.url,
    seconds,
    traffic: { kind: 'arrivals', schedule, maxInFlight: MAX_IN_FLIGHT },
  };
  const output = await new GeneratorProcess('batchwise', nodeCommand('batchwise-load.js', load)).ended();
  const after = await server.counts();
  const { arrivals, total, generator } = JSON.parse(output) as LoadReport;
  if (arrivals === undefined) throw new Error('The report has no arrivals.');
  return {
    achievedShare: arrivals.achievedPerSecond / arrivals.requestedPerSecond,
    serverShare: (after.requests - before.requests) / arrivals.due,
    notSent: arrivals.notSent,
    failed: total.failed + total.rejected,
    intendedP99Ms: total.intended.p99,
    p99Ms: total.latency.p99,
    cpuShare: generator.meanCpuShare,
  };
}
