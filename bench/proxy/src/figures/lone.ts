/** The latency that the proxy adds for a single caller. */
import {
  atMost,
  type Effort,
  type Figure,
  medianText,
  spreadText,
  takeTurns,
  type Verdict,
} from '@batchwise/bench-harness';
import type { DeviceName } from '../backends/device.js';
import { type Route, runTrial, type TrialResult } from '../trial.js';

/** A backend that answers at once, and one with about the duration of a small model. */
const DEVICES = { none: 'answers at once', 'five-ms': 'takes 5 ms' } as const;
const ROUTES = { bare: 'direct', 'bare-hop': 'bare hop', proxy: 'proxy' } as const;
type LoneRoute = keyof typeof ROUTES;
type LoneDevice = keyof typeof DEVICES & DeviceName;

export const lone: Figure = {
  name: 'lone',
  title: 'One caller: p50 through the proxy − p50 direct to the same backend',

  async measure(effort, say) {
    const cases = (Object.keys(DEVICES) as LoneDevice[]).flatMap((device) =>
      (Object.keys(ROUTES) as LoneRoute[]).map((route) => ({ device, route })),
    );
    const turns = Object.fromEntries(
      cases.map(({ device, route }) => [keyOf(device, route), () => trialOf(device, route, effort)]),
    );
    const raw = await takeTurns(turns, effort.rounds, say);
    const p50Of = (device: LoneDevice, route: LoneRoute) =>
      (raw[keyOf(device, route)] ?? []).map(({ p50Ms }) => p50Ms);
    const verdicts = cases
      .filter(({ route }) => route !== 'bare')
      .map(({ device, route }): Verdict => {
        const direct = p50Of(device, 'bare');
        const samples = p50Of(device, route).map((ms, round) => ms - (direct[round] ?? Number.NaN));
        const verdict = { label: `ms added by ${keyOf(device, route)}`, samples, digits: 2 };
        return route === 'proxy' ? { ...verdict, goal: atMost(0.5) } : verdict;
      });
    const rows = cases.map(({ device, route }) => {
      const p50 = p50Of(device, route);
      const p99 = (raw[keyOf(device, route)] ?? []).map(({ p99Ms }) => p99Ms);
      return [keyOf(device, route), medianText(p50, 2), spreadText(p50, 2), medianText(p99, 2)];
    });
    return {
      tables: [{ head: ['', 'p50 ms', 'min–max', 'p99 ms'], rows }],
      verdicts,
      notes: ['the proxy has its default policy, adaptive'],
      raw,
    };
  },
};

function keyOf(device: LoneDevice, route: LoneRoute): string {
  return `${ROUTES[route]}, a backend that ${DEVICES[device]}`;
}

function trialOf(device: DeviceName, route: Route, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  const load = { kind: 'closed', callers: 1, warmupMs, timedMs } as const;
  return runTrial({ route, load, device, isHeated: true, batching: { maxBatchSize: 64 } });
}
