/** `bench/gpu/run.sh`: the model alone, then the ways to it, and where the time goes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { StartedProcess } from './started-process.mjs';
import { linesOf } from './text-table.mjs';
import { runTrial } from './trial.mjs';
import { WAYS } from './ways.mjs';

const GOAL = { perSecond: 40_000, p99Ms: 50 };
/** Loading PyTorch and capturing the graphs takes its time. */
const MODEL_WITHIN_MS = 240_000;
const MODEL = fileURLToPath(new URL('../backend/main.py', import.meta.url));

const HELP = `A MiniLM-size encoder behind Python, and Batchwise in front of it.

  bench/gpu/run.sh [options]

  --batchwise FILE    the batchwise command (default: the packed one, else that of the checkout)
  --python FILE       the Python that has PyTorch (default python3)
  --device NAME       cuda (default) or cpu
  --small             a stand-in in numpy instead of the encoder: needs no PyTorch
  --no-graphs         launches every kernel by itself instead of CUDA graphs
  --ways a,b          of ${Object.keys(WAYS).join(', ')} (default item,stream,http,grpc)
  --callers a,b       number of callers (default 768,1280)
  --item-callers N    callers of the ways without batches (default 64)
  --clients N         client processes (default 6)
  --workers N         web processes of batchwise serve (default 8)
  --max-batch N       (default 256)
  --plans a,b         runner processes x batches in flight per process (default 1x2,2x1,2x2)
  --target-ms N       target_latency_ms of the runner (default: none)
  --mosec-wait-ms N   max_wait_time of mosec (default 5)
  --rounds N          (default 2)
  --seconds N         timed part of a trial (default 5), after 2 s of warm-up
  --json FILE         all measurements as JSON
  --skip-alone        not the model alone
`;

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const { values } = parseArgs({
  options: {
    batchwise: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    device: { type: 'string', default: 'cuda' },
    small: { type: 'boolean', default: false },
    'no-graphs': { type: 'boolean', default: false },
    ways: { type: 'string', default: 'item,stream,http,grpc' },
    callers: { type: 'string', default: '768,1280' },
    'item-callers': { type: 'string', default: '64' },
    clients: { type: 'string', default: '6' },
    workers: { type: 'string', default: '8' },
    'max-batch': { type: 'string', default: '256' },
    plans: { type: 'string', default: '1x2,2x1,2x2' },
    'target-ms': { type: 'string', default: '0' },
    'mosec-wait-ms': { type: 'string', default: '5' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
    json: { type: 'string' },
    'skip-alone': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else await main();

async function main() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-gpu-'));
  const modelArgs = [
    MODEL,
    '--device',
    values.device,
    ...(values.small ? ['--small'] : []),
    ...(values['no-graphs'] ? ['--no-graphs'] : []),
  ];
  const about = { node: process.version, cores: availableParallelism(), values };
  const alone = values['skip-alone'] ? [] : await modelAlone(modelArgs);
  const model = new StartedProcess(values.python, modelArgs);
  const results = [];
  try {
    const backend = JSON.parse(await model.line(MODEL_WITHIN_MS));
    say(`${backend.model}; gRPC ${backend.grpc_port ?? `missing: ${model.errors}`}`);
    for (const trial of trialsFor(backend)) {
      const setup = {
        ...trial.setup,
        backend,
        backendPid: model.pid,
        python: values.python,
        modelArgs: modelArgs.slice(1),
        mosecWaitMs: Number(values['mosec-wait-ms']),
        folder,
        batchwise: values.batchwise,
        maxBatch: Number(values['max-batch']),
        targetMs: Number(values['target-ms']),
      };
      const result = await runTrial({ ...trial, setup }).catch((error) => ({
        ...trial,
        error: error.message,
      }));
      results.push({ ...result, ...trial.setup });
      say(shortLine(results.at(-1)));
      if (values.json) writeFileSync(values.json, JSON.stringify({ about, alone, results }, null, 1));
    }
  } finally {
    await model.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${textOf(alone, results)}\n`);
}

async function modelAlone(modelArgs) {
  const runs = values.small || values['no-graphs'] || values.device === 'cpu' ? [[]] : [[], ['--no-graphs']];
  const found = [];
  for (const more of runs) {
    const model = new StartedProcess(values.python, [...modelArgs, '--alone', ...more]);
    try {
      const { model: name, alone } = JSON.parse(await model.line(MODEL_WITHIN_MS));
      found.push(...alone.map((row) => ({ model: name, ...row })));
    } finally {
      await model.stop();
    }
  }
  return found;
}

/** Ways take turns, all numbers of callers of a round before the next round. */
function trialsFor(backend) {
  const common = {
    clients: Number(values.clients),
    warmupMs: 2000,
    timedMs: 1000 * Number(values.seconds),
  };
  const ways = values.ways.split(',').filter((way) => {
    if (!(way in WAYS)) {
      throw new Error(`--ways: expected some of ${Object.keys(WAYS).join(', ')}, got '${way}'`);
    }
    const isPossible = backend.grpc_port !== null || !WAYS[way].needsGrpc;
    if (!isPossible) say(`${way}: left out, as there is no grpcio`);
    return isPossible;
  });
  return Array.from({ length: Number(values.rounds) }, () =>
    ways.flatMap((way) => setupsOf(way).map((setup) => ({ ...common, way, ...setup }))),
  ).flat();
}

/** With how many callers, and with what between them and the model. */
function setupsOf(way) {
  const callers = values.callers.split(',').map(Number);
  if (way.endsWith('item')) return [{ callers: Number(values['item-callers']), setup: {} }];
  if (way === 'stream') return [{ callers: callers[0], setup: { concurrency: 2 } }];
  return values.plans.split(',').flatMap((plan) => {
    const [replicas, concurrency] = plan.split('x').map(Number);
    const setup = { workers: Number(values.workers), replicas, concurrency };
    return callers.map((count) => ({ callers: count, setup }));
  });
}

function textOf(alone, results) {
  const head = [
    '',
    'callers',
    'plan',
    'requests/s',
    'p50 ms',
    'p99 ms',
    'mean batch',
    'device busy',
    'failed',
    'goal',
  ];
  const isMet = ({ way, perSecond, p99Ms }) =>
    way === 'grpc' || way === 'http' ? (perSecond >= GOAL.perSecond && p99Ms <= GOAL.p99Ms ? '✓' : '✗') : '';
  const rows = results
    .filter(({ error }) => error === undefined)
    .map((result) => [
      result.way,
      String(result.callers),
      planOf(result),
      whole(result.perSecond),
      result.p50Ms.toFixed(1),
      result.p99Ms.toFixed(1),
      result.meanBatch.toFixed(1),
      result.deviceBusyShare === undefined ? '' : `${(100 * result.deviceBusyShare).toFixed(0)} %`,
      `${result.failed} of ${result.sent}`,
      isMet(result),
    ]);
  const aloneRows = alone.map(({ model, size, p50_ms, p99_ms, per_second }) => [
    model,
    String(size),
    p50_ms.toFixed(2),
    p99_ms.toFixed(2),
    whole(per_second),
  ]);
  const cores = results
    .filter(({ error }) => error === undefined)
    .map(({ cores: used, deviceMsPerBatch, ...result }) => {
      const parts = Object.entries(used).map(([role, list]) => `${role} ${list.join(' + ')}`);
      return `  ${nameOf(result)}: ${parts.join(' · ')}${deviceMsPerBatch === undefined ? '' : ` · ${deviceMsPerBatch.toFixed(2)} ms of the device a batch`}`;
    });
  return [
    'The model alone, from bytes to bytes',
    ...linesOf(['', 'batch', 'p50 ms', 'p99 ms', 'items/s'], aloneRows),
    '',
    `Ways to it; the goal is ≥ ${whole(GOAL.perSecond)} requests/s with p99 ≤ ${GOAL.p99Ms} ms`,
    ...linesOf(head, rows),
    ...Object.entries(WAYS).map(([way, { title }]) => `  · ${way}: ${title}`),
    '',
    'Where the time goes: cores in use, each process by itself',
    ...cores,
    ...results
      .filter(({ error }) => error !== undefined)
      .map(({ way, callers, error }) => `  ${way}, ${callers}: ${error}`),
    ...results
      .filter(({ failed }) => failed > 0)
      .map(({ way, callers, failures }) => `  ${way}, ${callers}: ${JSON.stringify(failures)}`),
  ].join('\n');
}

function shortLine({ perSecond, p50Ms, p99Ms, meanBatch, error, ...result }) {
  const what = nameOf(result);
  return error === undefined
    ? `${what}: ${whole(perSecond)}/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, batches of ${meanBatch.toFixed(0)}`
    : `${what}: ${error}`;
}

function nameOf(result) {
  return [result.way, `${result.callers} callers`, planOf(result)].filter(Boolean).join(', ');
}

/** `8 web, 2 × 1`: web processes, then runner processes × batches under way for each. */
function planOf({ workers, replicas, concurrency }) {
  if (concurrency === undefined) return '';
  return workers === undefined ? `1 × ${concurrency}` : `${workers} web, ${replicas} × ${concurrency}`;
}

function whole(number) {
  return Math.round(number).toLocaleString('en');
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
