/** `npm run bench:core`: measures the chosen figures and prints them. */
import { measureAll, runCommand, writeReport } from '@batchwise/bench-harness';
import { helpText, parseCommand } from './command-line.js';
import type { Effort } from './figure.js';
import { figures } from './figures.js';
import { jsonOf, tableOf } from './report.js';
import { Rounds } from './rounds.js';

await runCommand(async (args) => {
  const { effort, help, json, ...command } = parseCommand(args, figures);
  if (help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const chosen = command.figures.map(({ measure, ...figure }) => ({
    ...figure,
    measure: (each: Effort, say: (text: string) => void) => measure(new Rounds(each.rounds, say), each),
  }));
  const { measured, tookSeconds } = await measureAll(chosen, effort);
  const about = `Node ${process.version}, ${effort.rounds} rounds, ${tookSeconds} s`;
  writeReport(`${tableOf(measured)}\n\n${about}`, json ? jsonOf(measured, effort.rounds) : undefined);
});
