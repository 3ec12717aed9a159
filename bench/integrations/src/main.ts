/** `npm run bench:integrations`: measures the chosen figures and prints them. */
import { aboutRun, jsonOf, measureAll, runCommand, textOf, writeReport } from '@batchwise/bench-harness';
import { helpText, parseCommand } from './command-line.js';
import { figures } from './figures.js';

await runCommand(async (args) => {
  const { effort, help, json, ...command } = parseCommand(args, figures);
  if (help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const { measured, tookSeconds } = await measureAll(command.figures, effort);
  const { about, text } = aboutRun(effort, tookSeconds);
  writeReport(`${textOf(measured)}\n\n${text}`, json ? jsonOf(measured, about) : undefined);
});
