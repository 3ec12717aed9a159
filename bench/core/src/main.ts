/** `npm run bench:core`: measures the chosen figures and prints them. */
import { helpText, parseCommand, UsageError } from './command-line.js';
import type { Figure } from './figure.js';
import { figures } from './figures.js';
import { jsonOf, type Measured, tableOf } from './report.js';
import { Rounds } from './rounds.js';
import { nowMs } from './stopwatch.js';

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n--help lists the options.\n`);
  process.exitCode = 2;
}

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommand(args, figures);
  if (command.help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const { effort } = command;
  const startedAt = nowMs();
  const measured: Measured[] = [];
  for (const figure of command.figures) {
    const rounds = new Rounds(effort.rounds, (text) => showProgress(figure, text));
    measured.push({ figure, result: await figure.measure(rounds, effort) });
  }
  clearProgress();

  const seconds = ((nowMs() - startedAt) / 1000).toFixed(0);
  const about = `Node ${process.version}, ${effort.rounds} rounds, ${seconds} s`;
  const table = `${tableOf(measured)}\n\n${about}\n`;
  (command.json ? process.stderr : process.stdout).write(table);
  if (command.json) process.stdout.write(`${jsonOf(measured, effort.rounds)}\n`);
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
