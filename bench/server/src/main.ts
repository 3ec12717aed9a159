/** `npm run bench:server`: measures the chosen figures and prints them. */
import {
  chosenFigures,
  FLAGS,
  parseFlags,
  runCommand,
  sayFor,
  validRounds,
  validSeconds,
} from '@batchwise/bench-harness';
import { figures } from './figures.js';

const HELP = `npm run bench:server -- [--only <figure>,…] [--rounds <count>] [--seconds <count>]

Figures: ${figures.map(({ name, title }) => `\n  ${name.padEnd(12)} ${title}`).join('')}

wrk is needed: apt-get install wrk
`;

const { only, rounds, help } = FLAGS;

await runCommand(async (args) => {
  const values = parseFlags(args, { only, rounds, help, seconds: { type: 'string' } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const effort = { rounds: validRounds(values.rounds, 5), seconds: validSeconds(values.seconds, 5, 1) };
  for (const figure of chosenFigures(values.only, figures)) {
    // Each as soon as it is there: all of them take minutes.
    const lines = await figure.measure(effort, sayFor(figure.name));
    process.stdout.write(`${figure.name}: ${figure.title}\n${lines.map((line) => `  ${line}\n`).join('')}\n`);
  }
});
