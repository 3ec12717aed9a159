import { type Contender, measure, type Scenario, simulate } from '@batchwise/arena';

export interface RatioEstimate {
  readonly mean: number;
  readonly standardError: number;
}

/** Mean latency of a contender ÷ an expected one, over several seeds, without the first tenth of each run. */
export async function ratioEstimate(
  scenarioOf: (seed: number) => Scenario,
  contender: Contender,
  expectedMs: number,
  seeds: number,
): Promise<RatioEstimate> {
  const ratios: number[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const scenario = scenarioOf(seed);
    const run = await simulate(scenario, contender);
    ratios.push(measure(run, Math.floor(scenario.items / 10)).meanMs / expectedMs);
  }
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / seeds;
  const squares = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0);
  return { mean, standardError: Math.sqrt(squares / (seeds - 1) / seeds) };
}
