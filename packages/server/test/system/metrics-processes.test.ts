/** The metrics of real processes that are killed, stopped and started again while they are looked at. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MetricsSnapshot } from '../../src/metrics/metrics-snapshot.js';
import { ProcessMetrics } from '../../src/metrics/process-metrics.js';
import { prometheusText } from '../../src/metrics/prometheus-text.js';
import { ServerMetrics } from '../../src/metrics/server-metrics.js';
import { parseExposition, sampleValue } from '../metrics/support/exposition.js';

const script = fileURLToPath(new URL('../metrics/support/working-process.js', import.meta.url));

let supervisor: ServerMetrics;
let metrics: ProcessMetrics;
const children = new Set<ChildProcess>();

beforeEach(() => {
  supervisor = new ServerMetrics({ version: '0.0.0', kind: 'supervisor' });
  metrics = new ProcessMetrics({ own: () => supervisor.snapshot(), deadlineMs: 500 });
});

afterEach(() => {
  supervisor.close();
  for (const child of children) child.kill('SIGKILL');
});

function start(): ChildProcess {
  const child = fork(script);
  children.add(child);
  const watched = metrics.add(async () => {
    child.send('metrics');
    const [snapshot] = await once(child, 'message');
    return snapshot as MetricsSnapshot;
  });
  child.once('exit', () => {
    children.delete(child);
    watched.retire();
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const look = async () => parseExposition(prometheusText(await metrics.collect()));

/** Looks until so many runner processes are seen, and something has been done since. */
async function lookUntilSeen(processes: number, moreThan = 0) {
  for (;;) {
    const families = await look();
    const seen = sampleValue(families, 'batchwise_processes', { kind: 'runner' });
    if (seen === processes && requests(families) > moreThan) return families;
  }
}

function requests(families: Awaited<ReturnType<typeof look>>): number {
  const ok = { protocol: 'http', route: '/echo', outcome: 'ok' };
  return sampleValue(families, 'batchwise_requests_total', ok) ?? 0;
}

test('totals go on through kills and restarts, and never back', async () => {
  let victims = [start(), start()];
  let before = await lookUntilSeen(2);
  for (let round = 0; round < 4; round++) {
    const [victim, survivor] = victims as [ChildProcess, ChildProcess];
    await kill(victim);
    const bereft = await look();
    expect(sampleValue(bereft, 'batchwise_processes', { kind: 'runner' })).toBe(1);
    victims = [survivor, start()];
    const after = await lookUntilSeen(2, requests(bereft));
    for (const [then, now] of [
      [before, bereft],
      [bereft, after],
    ] as const) {
      const totals = [...then.values()]
        .filter(({ type }) => type !== 'gauge')
        .flatMap(({ samples }) => samples);
      expect(totals.length).toBeGreaterThan(50);
      for (const { name, labels, value } of totals) {
        const what = `${name} ${JSON.stringify([...labels])}`;
        expect(sampleValue(now, name, Object.fromEntries(labels)), what).toBeGreaterThanOrEqual(value);
      }
    }
    before = after;
  }
});

test('a process that stands still is shown as it was, and the others as they are', async () => {
  const stopped = start();
  const running = start();
  const before = await lookUntilSeen(2);
  stopped.kill('SIGSTOP');
  try {
    await lookUntilSeen(2, requests(before));
    const one = await look();
    const two = await look();
    expect(requests(two)).toBeGreaterThan(requests(one));
    await kill(running);
    expect(requests(await look())).toBeGreaterThanOrEqual(requests(two));
  } finally {
    stopped.kill('SIGCONT');
  }
  const last = await look();
  await lookUntilSeen(1, requests(last));
});
