/** The command itself: mistakes in a line, Ctrl-C that leaves no process behind, figures one after the other. */
import { availableParallelism } from 'node:os';
import { UsageError } from './command-line.js';
import type { Effort, Figure, Measured } from './figure.js';
import { clearProgress, sayFor } from './say.js';
import { nowMs } from './stopwatch.js';

export async function runCommand(main: (args: readonly string[]) => Promise<void>): Promise<void> {
  // Ctrl-C has to run the 'exit' listeners, which end the processes that were started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n--help lists the options.\n`);
    process.exitCode = 2;
  }
}

export interface Measurements<Result> {
  readonly measured: readonly Measured<Result>[];
  readonly tookSeconds: number;
}

export async function measureAll<RunEffort, Result>(
  figures: readonly Figure<RunEffort, Result>[],
  effort: RunEffort,
): Promise<Measurements<Result>> {
  const startedAt = nowMs();
  const measured: Measured<Result>[] = [];
  for (const figure of figures) {
    measured.push({ figure, result: await figure.measure(effort, sayFor(figure.name)) });
  }
  clearProgress();
  return { measured, tookSeconds: Math.round((nowMs() - startedAt) / 1000) };
}

/** Where and how long it was measured, for the end of a report. */
export function aboutRun({ rounds, timedMs }: Effort, tookSeconds: number) {
  const about = { node: process.version, cores: availableParallelism(), rounds, timedMs, tookSeconds };
  const text = `Node ${about.node}, ${about.cores} cores, ${rounds} rounds of ${timedMs / 1000} s, ${tookSeconds} s in all`;
  return { about, text };
}

/** The text for people goes to stderr where a program reads the JSON on stdout. */
export function writeReport(text: string, json?: string): void {
  (json === undefined ? process.stdout : process.stderr).write(`${text}\n`);
  if (json !== undefined) process.stdout.write(`${json}\n`);
}
