/** Serves one model with and without batching, and sends the same ramp of users to both. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { between, type LoadReport, progressLine, reportHtml, startRun } from '@batchwise/load';
import { ratePlot } from './rate-plot.js';
import { startServer } from './server-process.js';

const SERVICE = fileURLToPath(new URL('../service.ts', import.meta.url));
const PATHS = ['/predict', '/optimized_predict'];
const PROGRESS_EVERY_MS = 5000;
/** How long all users stay after the ramp. */
const HOLD_SECONDS = 5;

const { values: flags } = parseArgs({
  options: {
    users: { type: 'string', default: '600' },
    seconds: { type: 'string', default: '25' },
    out: { type: 'string', default: fileURLToPath(new URL('../out', import.meta.url)) },
  },
});
const users = positive('--users', flags.users);
const rampSeconds = positive('--seconds', flags.seconds);

const server = await startServer([SERVICE]);
console.log(
  `${users} users start within ${rampSeconds} s. Each one waits 0.5 to 1.5 s between its requests.`,
);
const reports: LoadReport[] = [];
try {
  for (const path of PATHS) {
    console.log(`\nPOST ${path}`);
    reports.push(await rampOfUsers(`${server.url}${path}`));
  }
} finally {
  await server.stop();
}

console.log(`\n${table(reports)}\n`);
await mkdir(flags.out, { recursive: true });
for (const [i, report] of reports.entries()) {
  const path = PATHS[i] ?? '';
  await write(`${path.slice(1)}.svg`, ratePlot(report, `POST ${path}`, 1.1 * users));
  await write(`${path.slice(1)}.html`, reportHtml(report));
}

async function rampOfUsers(url: string): Promise<LoadReport> {
  const run = await startRun({
    work: { kind: 'target', target: { url, data: [{ json: [1, 2, 3] }] } },
    traffic: { kind: 'users', users, spawnRate: users / rampSeconds, waitTime: between(0.5, 1.5) },
    seconds: rampSeconds + HOLD_SECONDS,
  });
  const progress = setInterval(() => console.log(`  ${progressLine(run.report())}`), PROGRESS_EVERY_MS);
  const report = await run.ended;
  clearInterval(progress);
  return report;
}

function table(reports: readonly LoadReport[]): string {
  const rows = reports.map((report, i) => {
    const { total, series } = report;
    const { latency } = total;
    const hold = series.filter(({ second }) => second >= rampSeconds && second < rampSeconds + HOLD_SECONDS);
    const firstRejection = series.find(({ rejected, failed }) => rejected + failed > 0);
    return [
      `\`${PATHS[i]}\``,
      String(total.count),
      String(total.ok),
      String(total.rejected),
      String(total.failed),
      firstRejection === undefined ? 'none' : `${firstRejection.users} users`,
      (hold.reduce((sum, { ok }) => sum + ok, 0) / HOLD_SECONDS).toFixed(0),
      ...[latency.p50, latency.p95, latency.max].map((ms) => `${ms.toFixed(0)} ms`),
      (total.meanBatchSize ?? 1).toFixed(1),
    ];
  });
  const titles =
    'endpoint|requests|answered|rejected|failed|first rejection|answered/s, all users|median|p95|max|batch';
  return markdownTable(titles.split('|'), rows);
}

function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [titles, rule, ...rows].map(line).join('\n');
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  console.error(`${flag}: expected a positive number, got '${text}'.`);
  process.exit(2);
}

async function write(name: string, content: string): Promise<void> {
  const file = join(flags.out, name);
  await writeFile(file, content);
  console.log(`Wrote ${relative('.', file)}`);
}
