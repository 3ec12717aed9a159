/** `npm run bench:redis`: measures the chosen figures and prints them. */
import { aboutRun, jsonOf, measureAll, runCommand, textOf, writeReport } from '@batchwise/bench-harness';
import { helpText, parseCommand } from './command-line.js';
import { DYNAMIC_BATCHER, whyNoDynamicBatcher } from './dynamic-batcher.js';
import type { Effort } from './figure.js';
import { figures } from './figures.js';

await runCommand(async (args) => {
  const { effort, help, json, ...command } = parseCommand(args, figures);
  if (help) {
    process.stdout.write(helpText(figures));
    return;
  }
  const missing = await missingPeer(effort);
  const contenders = effort.contenders.filter((name) => missing === undefined || name !== DYNAMIC_BATCHER);
  const { measured, tookSeconds } = await measureAll(command.figures, { ...effort, contenders });
  const { about, text } = aboutRun(effort, tookSeconds);
  const parts = [textOf(measured), missing, text].filter((part) => part !== undefined);
  writeReport(parts.join('\n\n'), json ? jsonOf(measured, { ...about, missing }) : undefined);
});

async function missingPeer({ contenders }: Effort): Promise<string | undefined> {
  if (!contenders.includes(DYNAMIC_BATCHER)) return undefined;
  const reason = await whyNoDynamicBatcher();
  if (reason !== undefined) process.stderr.write(`${reason}\n`);
  return reason;
}
