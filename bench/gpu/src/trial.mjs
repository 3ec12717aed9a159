/** One measurement: what is in front of the model and the clients are fresh, the backend goes on. */
import { fileURLToPath } from 'node:url';
import { coresBetween, cpuSeconds } from './cpu-seconds.mjs';
import { Histogram } from './histogram.mjs';
import { StartedProcess } from './started-process.mjs';
import { WAYS } from './ways.mjs';

const CLIENT_START_MS = 500;

const RUNS_MODEL = new Set(['python', 'mosec']);

export async function runTrial({ way, callers, clients, warmupMs, timedMs, setup }) {
  const { start, load } = WAYS[way];
  const front = await start(setup);
  const started = [...front.started];
  try {
    const startAt = Date.now() + CLIENT_START_MS + warmupMs;
    const each = shares(callers, clients).map((count) => {
      const options = { port: front.port, callers: count, startAt, timedMs };
      const script = fileURLToPath(new URL(load, import.meta.url));
      return new StartedProcess(process.execPath, [script, JSON.stringify(options)]);
    });
    started.push(...each);
    const roleOf = roleAmong(setup.backendPid, new Set(each.map(({ pid }) => pid)));
    await until(startAt);
    const before = { cpu: cpuSeconds(roleOf), model: await statsOf(setup), at: performance.now() };
    await until(startAt + timedMs - 20);
    const after = { cpu: cpuSeconds(roleOf), model: await statsOf(setup), at: performance.now() };
    const reports = await Promise.all(
      each.map(async (client) => JSON.parse(await client.line(timedMs + 60_000))),
    );
    return {
      way,
      callers,
      ...merged(reports),
      // A model that the server runs itself has no counters that could be read from here.
      ...(RUNS_MODEL.has(way) ? {} : modelBetween(before, after)),
      cores: coresBetween(before.cpu, after.cpu, after.at - before.at),
      said: front.started.map(({ errors }) => errors.slice(-500)).filter(Boolean),
    };
  } finally {
    await Promise.all(started.map((process) => process.stop()));
  }
}

/** What all client processes saw together. */
function merged(reports) {
  const latencies = new Histogram();
  const failures = {};
  let [answers, batches] = [0, 0];
  for (const report of reports) {
    latencies.merge(report.latencies);
    for (const [size, count] of report.batchSizes) {
      answers += count;
      batches += count / size;
    }
    for (const [why, count] of Object.entries(report.failures)) failures[why] = (failures[why] ?? 0) + count;
  }
  const sum = (key) => reports.reduce((total, report) => total + report[key], 0);
  return {
    perSecond: sum('perSecond'),
    p50Ms: latencies.percentile(0.5),
    p99Ms: latencies.percentile(0.99),
    sent: sum('sent'),
    failed: sum('failed'),
    failures,
    meanBatch: answers / batches,
  };
}

/** What the model saw meanwhile: sizes of batches, and the share of the time in which one was on the device. */
function modelBetween(before, after) {
  const batches = after.model.batches - before.model.batches;
  const items = after.model.items - before.model.items;
  const elapsedMs = after.at - before.at;
  const sizes = Object.entries(after.model.sizes)
    .map(([size, count]) => [Number(size), count - (before.model.sizes[size] ?? 0)])
    .filter(([, count]) => count > 0);
  return {
    meanBatch: items / batches,
    batchesPerSecond: (1000 * batches) / elapsedMs,
    deviceBusyShare: (after.model.busy_ms - before.model.busy_ms) / elapsedMs,
    deviceMsPerBatch: (after.model.busy_ms - before.model.busy_ms) / batches,
    sizes,
  };
}

async function statsOf({ backend }) {
  return (await fetch(`http://127.0.0.1:${backend.http_port}/stats`)).json();
}

function roleAmong(backendPid, clientPids) {
  return (pid, command) => {
    if (pid === backendPid) return 'model (Python)';
    if (clientPids.has(pid)) return 'clients';
    if (command.includes('web-process')) return 'web processes';
    if (command.includes('runner-process')) return 'runner process';
    if (command.includes('-m batchwise')) return 'model (Python)';
    if (command.includes('mosec')) return 'mosec';
    return command.includes(' proxy ') ? 'proxy' : 'batchwise (main)';
  };
}

/** So many callers over so many processes, none of which is left without. */
function shares(callers, clients) {
  const count = Math.min(callers, clients);
  return Array.from({ length: count }, (_, at) => Math.floor((callers + at) / count));
}

async function until(at) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - Date.now())));
}
