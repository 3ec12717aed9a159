/** `npm run bench:redis`: measures the chosen figures and prints them. */
import { availableParallelism } from 'node:os';
import { helpText, parseCommand, UsageError } from './command-line.js';
import { DYNAMIC_BATCHER, whyNoDynamicBatcher } from './dynamic-batcher.js';
import type { Effort, Figure } from './figure.js';
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
  const command = parseCommand(args, figures);
  if (command.help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const startedAt = nowMs();
  const missing = await missingPeer(command.effort);
  const effort =
    missing === undefined
      ? command.effort
      : {
          ...command.effort,
          contenders: command.effort.contenders.filter((name) => name !== DYNAMIC_BATCHER),
        };
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
    missing,
  };
  const summary = `Node ${about.node}, ${about.cores} cores, ${about.rounds} rounds of ${effort.timedMs / 1000} s, ${about.tookSeconds} s in all`;
  const text = [textOf(measured), missing, summary].filter((part) => part !== undefined).join('\n\n');
  (command.json ? process.stderr : process.stdout).write(`${text}\n`);
  if (command.json) process.stdout.write(`${jsonOf(measured, about)}\n`);
}

async function missingPeer({ contenders }: Effort): Promise<string | undefined> {
  if (!contenders.includes(DYNAMIC_BATCHER)) return undefined;
  const reason = await whyNoDynamicBatcher();
  if (reason !== undefined) process.stderr.write(`${reason}\n`);
  return reason;
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
