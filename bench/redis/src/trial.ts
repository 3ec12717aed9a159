/** One measurement: a fresh Redis, fresh processors and a fresh client, gone when it is over. */
import { fileURLToPath } from 'node:url';
import type { HandlerReport } from './batch-handler.js';
import type { Load, LoadReport } from './closed-loop.js';
import type { ContenderName } from './contenders.js';
import { DYNAMIC_BATCHER, dynamicBatcherSides } from './dynamic-batcher.js';
import { commandsBetween, Redis } from './redis.js';
import { SideProcess } from './side-process.js';
import type { Sides } from './sides.js';

export type TrialName = ContenderName | typeof DYNAMIC_BATCHER;

export interface Trial {
  readonly contender: TrialName;
  readonly load: Load;
  /** One for each processor: how long its batches take. */
  readonly batchMs: readonly number[];
}

export interface TrialResult extends LoadReport {
  readonly commandsPerRequest: number;
  /** By command. */
  readonly commandsEach: Readonly<Record<string, number>>;
  /** One for each processor; undefined where the contender does not tell. */
  readonly processors: readonly (HandlerReport | undefined)[];
}

const READY_WITHIN_MS = 30_000;
/** For a client to start and to wait for what is still under way. */
const BEYOND_LOAD_MS = 30_000;

export async function runTrial({ contender, load, batchMs }: Trial): Promise<TrialResult> {
  const sides = contender === DYNAMIC_BATCHER ? dynamicBatcherSides : nodeSides(contender);
  const redis = await Redis.start();
  const started: SideProcess[] = [];
  try {
    const processors = batchMs.map((ms) => sides.processor(redis, ms));
    started.push(...processors);
    for (const processor of processors) await processor.line(READY_WITHIN_MS);
    const before = await redis.commandCounts();
    const client = sides.client(redis, load);
    started.push(client);
    const limit = (load.heatMs ?? 0) + load.warmupMs + load.timedMs + BEYOND_LOAD_MS;
    const report = JSON.parse(await client.line(limit)) as LoadReport;
    const commands = commandsBetween(before, await redis.commandCounts());
    const reports = await Promise.all(processors.map(reportOf));
    const each = Object.entries(commands).map(([name, calls]) => [name, calls / report.sent]);
    return {
      ...report,
      commandsPerRequest: Object.values(commands).reduce((sum, calls) => sum + calls, 0) / report.sent,
      commandsEach: Object.fromEntries(each),
      processors: reports,
    };
  } finally {
    await Promise.all(started.map((side) => side.stop()));
    await redis.stop();
  }
}

async function reportOf(processor: SideProcess): Promise<HandlerReport | undefined> {
  await processor.stop();
  const line = await processor.lastLine();
  return line === undefined ? undefined : (JSON.parse(line) as HandlerReport);
}

const CLIENT = fileURLToPath(new URL('./client.js', import.meta.url));
const PROCESSOR = fileURLToPath(new URL('./processor.js', import.meta.url));

function nodeSides(contender: ContenderName): Sides {
  return {
    client: ({ url }, load) =>
      new SideProcess(process.execPath, [CLIENT, contender, url, JSON.stringify(load)]),
    processor: ({ url }, batchMs) =>
      new SideProcess(process.execPath, [PROCESSOR, contender, url, String(batchMs)]),
  };
}
