/** Unary calls per second through the proxy, compared with the same client and backend without it. */
import {
  atLeast,
  type Effort,
  type Figure,
  type FigureResult,
  type Goal,
  medianOf,
  medianText,
  pairedRatios,
  spreadText,
  takeTurns,
  type Verdict,
} from '@batchwise/bench-harness';
import { type Route, runTrial, type TrialResult } from '../trial.js';

const OURS = 'proxy';
const MAX_BATCH_SIZE = 64;
const TITLES = {
  proxy: 'proxy, batches of 64',
  bare: 'bare node:http2, no proxy',
  'bare-hop': 'bare node:http2 hop, one call per item',
  'grpc-js': '@grpc/grpc-js, no proxy',
} as const satisfies Record<Route, string>;
const ROUTES = Object.keys(TITLES) as Route[];

/** Requests per second of the proxy ÷ those of the other contender. */
const GOALS: Partial<Record<Route, Goal>> = { bare: atLeast(0.5), 'grpc-js': atLeast(1) };

export const echo64: Figure = echoWith(64);
export const echo256: Figure = echoWith(256);
export const echo1000: Figure = echoWith(1000);

function echoWith(callers: number): Figure {
  return {
    name: `echo-${callers}`,
    title: `${callers.toLocaleString('en')} callers in a closed loop, an echo of 64 bytes`,

    async measure(effort, say) {
      const turns = Object.fromEntries(ROUTES.map((route) => [route, () => trialOf(route, callers, effort)]));
      return resultOf((await takeTurns(turns, effort.rounds, say)) as Record<Route, TrialResult[]>);
    },
  };
}

function trialOf(route: Route, callers: number, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  const load = { kind: 'closed', callers, warmupMs, timedMs } as const;
  return runTrial({ route, load, device: 'none', batching: { maxBatchSize: MAX_BATCH_SIZE } });
}

function resultOf(trials: Readonly<Record<Route, readonly TrialResult[]>>): FigureResult {
  const rate = ({ perSecond }: TrialResult) => perSecond;
  const verdicts = ROUTES.filter((route) => route !== OURS).map((route): Verdict => {
    const goal = GOALS[route];
    return {
      label: `requests/s, proxy ÷ ${TITLES[route]}`,
      samples: pairedRatios(trials[OURS].map(rate), trials[route].map(rate)),
      digits: 2,
      ...(goal && { goal }),
    };
  });
  return {
    tables: [
      {
        head: ['', 'requests/s', 'min–max', 'p50 ms', 'p99 ms', 'mean batch', 'failed'],
        rows: ROUTES.map((route) => rowOf(route, trials[route])),
      },
      {
        head: ['CPU, µs per request', 'client', 'proxy or hop', 'backend', 'all', 'requests/CPU-s'],
        rows: ROUTES.map((route) => cpuRowOf(route, trials[route])),
      },
    ],
    verdicts,
    notes: [
      'the first three have the same client, a minimal gRPC client on node:http2; all have 4 connections',
      'client, proxy and backend are separate processes that share the cores: the proxy takes CPU time from the other two',
    ],
    raw: trials,
  };
}

function rowOf(route: Route, results: readonly TrialResult[]): string[] {
  const of = (value: (result: TrialResult) => number) => results.map(value);
  const sum = (value: (result: TrialResult) => number) => of(value).reduce((total, each) => total + each, 0);
  return [
    TITLES[route],
    medianText(
      of(({ perSecond }) => perSecond),
      0,
    ),
    spreadText(
      of(({ perSecond }) => perSecond),
      0,
    ),
    medianText(
      of(({ p50Ms }) => p50Ms),
      2,
    ),
    medianText(
      of(({ p99Ms }) => p99Ms),
      1,
    ),
    medianText(
      of(({ device }) => device.items / device.batches),
      1,
    ),
    `${sum(({ failed }) => failed)} of ${sum(({ sent }) => sent).toLocaleString('en')}`,
  ];
}

function cpuRowOf(route: Route, results: readonly TrialResult[]): string[] {
  const us = (name: string) => medianOf(results.map(({ cpuUs }) => cpuUs[name] ?? 0));
  const between = us('proxy') + us('hop');
  const all = us('client') + between + us('backend');
  const text = (value: number) => (value === 0 ? '' : value.toFixed(0));
  return [
    TITLES[route],
    text(us('client')),
    text(between),
    text(us('backend')),
    text(all),
    Math.round(1e6 / all).toLocaleString('en'),
  ];
}
