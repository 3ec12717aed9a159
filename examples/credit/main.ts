/** Sends the same load to one credit-scoring service in several stages, and prints a table. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { constant, type LoadReport, startRun } from '@batchwise/load';
import { startServer } from './server-process.js';
import { STAGES, type Stage } from './stages.js';

const FOLDER = fileURLToPath(new URL('../', import.meta.url));
/** Titles and widths. */
const COLUMNS = {
  stage: 20,
  'users/rate': 10,
  'answered/s': 10,
  rejected: 8,
  failed: 7,
  median: 7,
  p90: 7,
  p99: 7,
  max: 7,
  batch: 5,
};
const WIDTHS = Object.values(COLUMNS);

const HELP = `One credit-scoring service in five stages, under the same load.

  npm run credit             about 2 minutes
  npm run credit -- --full   about 12 minutes

  --full             loads 50/10, 200/50, 300/50, 400/50 and 1000/100, for 20 seconds each
  --loads <list>     users/spawn rate (default 50/25,300/100)
  --seconds <count>  how long each load is measured after all users have started (default 5)
  --stages <list>    numbers of the stages to run (default 1,2,3,4,5)
  --help             this text
`;

interface Load {
  readonly users: number;
  readonly spawnRate: number;
}

const { values: flags } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    loads: { type: 'string' },
    seconds: { type: 'string' },
    stages: { type: 'string', default: '1,2,3,4,5' },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  console.log(HELP);
  process.exit();
}
const loads = loadsOf(flags.loads ?? (flags.full ? '50/10,200/50,300/50,400/50,1000/100' : '50/25,300/100'));
const stages = flags.stages.split(',').map(stageOf);
const seconds = positive('--seconds', flags.seconds ?? (flags.full ? '20' : '5'));

console.log(row(Object.keys(COLUMNS)));
console.log(row(WIDTHS.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))));
for (const stage of stages) {
  for (const load of loads) console.log(row(cells(stage, load, await measured(stage, load))));
}

/** A new server for each load: no request of the load before is left in it. */
async function measured({ args: [file = '', ...args], env }: Stage, load: Load): Promise<LoadReport> {
  const server = await startServer([`${FOLDER}${file}`, ...args], env);
  try {
    const rampSeconds = Math.ceil(load.users / load.spawnRate);
    const run = await startRun({
      work: { kind: 'scenario', file: `${FOLDER}load.ts`, host: server.url },
      // The scenario has a wait time of its own.
      traffic: { kind: 'users', ...load, waitTime: constant(0) },
      seconds: rampSeconds + seconds,
    });
    // Cold start and ramp do not count.
    const afterRamp = setTimeout(() => run.reset(), rampSeconds * 1000);
    const report = await run.ended;
    clearTimeout(afterRamp);
    return report;
  } finally {
    await server.stop();
  }
}

function cells({ name }: Stage, { users, spawnRate }: Load, { total }: LoadReport): string[] {
  const { ok, count, rejected, failed, latency, meanBatchSize } = total;
  const percent = (part: number) => (count === 0 ? '–' : `${((100 * part) / count).toFixed(1)} %`);
  const ms = (value: number) => (ok === 0 ? '–' : `${value.toFixed(0)} ms`);
  return [
    name,
    `${users}/${spawnRate}`,
    (ok / seconds).toFixed(0),
    percent(rejected),
    percent(failed),
    ...[latency.p50, latency.p90, latency.p99, latency.max].map(ms),
    meanBatchSize === undefined ? '–' : meanBatchSize.toFixed(1),
  ];
}

/** Of a Markdown table. */
function row(values: readonly string[]): string {
  const padded = values.map((value, i) =>
    i === 0 ? value.padEnd(WIDTHS[i] ?? 0) : value.padStart(WIDTHS[i] ?? 0),
  );
  return `| ${padded.join(' | ')} |`;
}

function loadsOf(text: string): Load[] {
  return text.split(',').map((part) => {
    const [users = '', spawnRate = ''] = part.split('/');
    return { users: positive('--loads', users), spawnRate: positive('--loads', spawnRate) };
  });
}

function stageOf(number: string): Stage {
  const stage = STAGES[Number(number) - 1];
  if (stage !== undefined) return stage;
  console.error(`--stages: expected numbers from 1 to ${STAGES.length}, got '${number}'.`);
  process.exit(2);
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  console.error(`${flag}: expected a positive number, got '${text}'.`);
  process.exit(2);
}
