/** Does its worst to queues in Redis, in full counts: `npm run chaos:redis`, or some of it by name. */
import type { ChaosReport, Progress } from './chaos-report.js';
import { cutConnections } from './scenarios/cut-connections.js';
import { dropConnections } from './scenarios/drop-connections.js';
import { everythingAtOnce } from './scenarios/everything-at-once.js';
import { failOver } from './scenarios/fail-over.js';
import { fickleCallers } from './scenarios/fickle-callers.js';
import { freezeProcessors } from './scenarios/freeze-processors.js';
import { killClients } from './scenarios/kill-clients.js';
import { killProcessors } from './scenarios/kill-processors.js';
import { manyAtOnce } from './scenarios/many-at-once.js';
import { restartRedis } from './scenarios/restart-redis.js';

const scenarios: Readonly<Record<string, (progress: Progress) => Promise<ChaosReport>>> = {
  'kill-processors': (progress) => killProcessors({ kills: 100, requestsPerSecond: 1000 }, progress),
  'freeze-processors': (progress) => freezeProcessors({ freezes: 50, requestsPerSecond: 500 }, progress),
  'kill-clients': (progress) => killClients({ kills: 50, concurrent: 100 }, progress),
  'restart-redis': (progress) => restartRedis({ restarts: 20, requestsPerSecond: 1000 }, progress),
  'cut-connections': (progress) => cutConnections({ cuts: 200, requestsPerSecond: 300 }, progress),
  'drop-connections': (progress) => dropConnections({ kills: 30, requestsPerSecond: 300 }, progress),
  'fail-over': (progress) => failOver({ failovers: 50, requestsPerSecond: 500 }, progress),
  'everything-at-once': (progress) => everythingAtOnce({ faults: 100, requestsPerSecond: 500 }, progress),
  'fickle-callers': (progress) => fickleCallers({ rounds: 100, callers: 300, patienceMs: 4000 }, progress),
  'many-at-once': () => manyAtOnce({ requests: 10_000, concurrent: 1000 }),
};

/** What is wrong is told in full up to this many sentences. */
const SENTENCES = 20;

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in scenarios));
if (unknown.length > 0) {
  const known = Object.keys(scenarios).join(', ');
  console.error(`expected names of scenarios (${known}), got ${unknown.join(', ')}`);
  process.exit(2);
}

let isFine = true;
const table: Record<string, Record<string, string | number>> = {};
for (const [name, run] of Object.entries(scenarios)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const startedAt = performance.now();
  const { requests, outcomes, figures, wrong } = await run(progressOf(name));
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  table[name] = {
    requests,
    ...outcomes,
    audit: wrong.length === 0 ? 'fine' : `${wrong.length} wrong`,
    seconds,
  };
  console.log(
    `${name}: ${wrong.length === 0 ? 'fine' : 'WRONG'} after ${seconds} s ${JSON.stringify(figures)}`,
  );
  for (const sentence of wrong.slice(0, SENTENCES)) console.log(`  ${sentence}`);
  if (wrong.length > SENTENCES) console.log(`  … and ${wrong.length - SENTENCES} more`);
  isFine &&= wrong.length === 0;
}
console.table(table);
process.exit(isFine ? 0 : 1);

/** A line now and then; on a terminal it is always the same one. */
function progressOf(name: string): Progress {
  return (done, of) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${name}: ${done} of ${of}${done === of ? '\n' : ''}`);
    else if (done % Math.ceil(of / 5) === 0) console.error(`${name}: ${done} of ${of}`);
  };
}
