/** `npm run bench:server`: measures the chosen figures and prints them. */
import { figures } from './figures.js';

const HELP = `npm run bench:server -- [--only <figure>,…] [--rounds <count>] [--seconds <count>]

Figures: ${figures.map(({ name, title }) => `\n  ${name.padEnd(12)} ${title}`).join('')}

wrk is needed: apt-get install wrk
`;

const args = process.argv.slice(2);
if (args.includes('--help')) process.stdout.write(HELP);
else {
  const only = argument('--only')?.split(',');
  const effort = { rounds: Number(argument('--rounds') ?? 5), seconds: Number(argument('--seconds') ?? 5) };
  const unknown = only?.find((name) => !figures.some((figure) => figure.name === name));
  if (unknown !== undefined || !(effort.rounds >= 1) || !(effort.seconds >= 1)) {
    process.stderr.write(
      `${unknown === undefined ? 'Wrong number.' : `There is no figure ${unknown}.`}\n${HELP}`,
    );
    process.exit(2);
  }
  for (const figure of figures.filter(({ name }) => only?.includes(name) ?? true)) {
    const lines = await figure.measure(effort, (text) => process.stderr.write(`${figure.name}: ${text}\n`));
    process.stdout.write(`${figure.name}: ${figure.title}\n${lines.map((line) => `  ${line}\n`).join('')}\n`);
  }
}

function argument(flag: string): string | undefined {
  const at = args.indexOf(flag);
  return at === -1 ? undefined : args[at + 1];
}
