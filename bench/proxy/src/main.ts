/** `npm run bench:proxy`: measures the chosen figures and prints them. */
import { availableParallelism } from 'node:os';
import { helpText, parseCommand, UsageError } from './command-line.js';
import type { Figure } from './figure.js';
import { figures } from './figures.js';
import { jsonOf, type Measured, textOf } from './report.js';
import { nowMs } from './stopwatch.js';

// Ctrl-C has to run the 'exit' listeners, which end the processes that were started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n--help lists the options.\n`);
  process.exitCode = 2;
}

async function main(args: readonly string[]): Promise<void> {
  const { help, json, effort, ...command } = parseCommand(args, figures);
  if (help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const startedAt = nowMs();
  const measured: Measured[] = [];
  for (const figure of command.figures) {
    measured.push({ figure, result: await figure.measure(effort, (text) => showProgress(figure, text)) });
  }
  clearProgress();

  const about = {
    node: process.version,
    cores: availableParallelism(),
    rounds: effort.rounds,
    timedMs: effort.timedMs,
    tookSeconds: Math.round((nowMs() - startedAt) / 1000),
  };
  const summary = `Node ${about.node}, ${about.cores} cores, ${about.rounds} rounds of ${effort.timedMs / 1000} s, ${about.tookSeconds} s in all`;
  (json ? process.stderr : process.stdout).write(`${textOf(measured)}\n\n${summary}\n`);
  if (json) process.stdout.write(`${jsonOf(measured, about)}\n`);
}

const ERASE_LINE = '\r\u001b[2K';

/** On a terminal one line that changes, elsewhere a line for each step. */
function showProgress(figure: Figure, text: string): void {
  const step = `${figure.name}: ${text}`;
  process.stderr.write(process.stderr.isTTY ? ERASE_LINE + step : `${step}\n`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
}
