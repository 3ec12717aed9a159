/** `batchwise worker`: runs the batches of a queue in Redis, until a signal ends it. */
import { constants } from 'node:os';
import { RedisProcessor, type RedisProcessorOptions } from '@batchwise/redis';
import { isUrl, shownUrl } from '@batchwise/runners';
import { type BatchContext, onBatch, realClock } from 'batchwise';
import { type Command, Option } from 'commander';
import { addQueueFlags, queueAddress } from '../queue/queue-flags.js';
import { type EndingSignals, endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { Failure, messageOf } from '../terminal/failure.js';
import { deviceList, positiveNumber, wholeNumber } from '../terminal/flag-values.js';
import type { Terminal } from '../terminal/terminal.js';
import { OutagePause } from './outage-pause.js';
import { WorkerLog } from './worker-log.js';
import {
  type BatchRule,
  checkProcessFlags,
  LARGEST_BATCH,
  LONGEST_SECONDS,
  policyOf,
  type WorkerFlags,
  workerSettings,
} from './worker-settings.js';
import { isPythonModel, loadWorkerSource, type WorkerSource } from './worker-source.js';

const EXAMPLES = `
Examples:
  $ batchwise worker handler.ts --queue digits
  $ batchwise worker models/digits.onnx --queue digits --max-batch-size 32
  $ batchwise worker model.py --queue reviews
  $ batchwise worker model.py:Classifier --queue reviews --python .venv --replicas 2 --gpu 0,1
  $ batchwise worker grpc://gpu:8001/minilm --queue minilm
  $ batchwise worker service.ts#iris --queue iris --url redis://cache:6379/1
  $ REDIS__HOST=cache DYNAMIC_BATCHER__BATCH_TIME=2 batchwise worker handler.ts -bs 64

A module exports handler, (items, context) => results or an object with processBatch(), or has it as its
default; and may export options, as { costOf, maxBatchSize }, and close(), called in the end. Items of a
model are rows, as arrays in arrays; of several inputs, objects by their names.

Without --policy and --batch-time batches leave when that is best: at once while nothing else is to be done.
With --batch-time, or DYNAMIC_BATCHER__BATCH_TIME, when they are full or the oldest has waited so long.

SIGTERM and Ctrl-C finish what is held; a second one gives it back to the queue, and ends.

Exit codes: 0 stopped as told, 1 it could not start, 2 wrong flags.`;

const LONGEST_MS = 1000 * LONGEST_SECONDS;
const MOST_SLOTS = 1024;
/** How long giving back may take: Redis may be away, and then the leases run out by themselves. */
const GIVE_BACK_MS = 1000;

export function setUpWorker(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  const milliseconds = positiveNumber(LONGEST_MS);
  command
    .description('Runs the batches of a queue in Redis, with a handler, a model or a runner of a service.')
    .argument('<what>', 'handler.ts, model.py, model.onnx, service.ts#runner or the URL of an upstream')
    .optionsGroup('The queue:');
  addQueueFlags(command)
    .addOption(
      new Option('--payload <kind>', 'how items travel; as their clients say it (default: json)').choices([
        'json',
        'msgpack',
        'bytes',
      ]),
    )
    .optionsGroup('Batches:')
    .option(
      '--batch-size, --max-batch-size <count>',
      'the largest batch; also -bs (default: DYNAMIC_BATCHER__BATCH_SIZE, else 64)',
      wholeNumber(1, LARGEST_BATCH),
    )
    .option(
      '--batch-time <seconds>',
      'how long a batch waits to be full; also -bt (default: DYNAMIC_BATCHER__BATCH_TIME, else as is best)',
      positiveNumber(LONGEST_SECONDS),
    )
    .addOption(
      new Option('--policy <name>', 'when batches leave (default: adaptive)').choices([
        'adaptive',
        'greedy',
        'window',
      ]),
    )
    .option('--max-wait-ms <ms>', 'the longest an item may wait while a slot is free', milliseconds)
    .option('--target-latency-ms <ms>', 'target for the total latency of an item', milliseconds)
    .option('--concurrency <count>', 'batches that run at a time (default: 1)', wholeNumber(1, MOST_SLOTS))
    .option('--handler-timeout-ms <ms>', 'how long a batch may take', milliseconds)
    .option('--isolate', 'run a batch that fails in parts, until only the guilty items fail')
    .optionsGroup('A Python model:')
    .option(
      '--python <path>',
      'an interpreter or the folder of a virtual environment (default: BATCHWISE__RUNNERS__PYTHON, else .venv)',
    )
    .option(
      '--replicas <count>',
      'processes, each with a copy of the model (default: 1)',
      wholeNumber(1, MOST_SLOTS),
    )
    .option('--gpu <devices>', 'the devices of the processes, as 0,1 (CUDA_VISIBLE_DEVICES)', deviceList)
    .optionsGroup('When processors fail:')
    .option(
      '--lease-ms <ms>',
      'how long a worker may be silent before other workers take over its items (default: 15000)',
      positiveNumber(LONGEST_MS),
    )
    .option(
      '--max-deliveries <count>',
      'of an item that is never answered, until it is a dead letter (default: 3)',
      wholeNumber(1, 1000),
    )
    .optionsGroup('Output:')
    .addOption(new Option('--verbose', 'also how each batch ended').conflicts('quiet'))
    .option('--quiet', 'no line for each batch')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (what: string, flags: WorkerFlags) => exit(await work(what, flags, terminal)));
}

async function work(what: string, flags: WorkerFlags, terminal: Terminal): Promise<number> {
  const settings = workerSettings(flags, terminal.env);
  if (!isPythonModel(what)) checkProcessFlags(flags, what);
  const address = queueAddress(flags, terminal.env);
  const note = (line: string) => terminal.stderr.write(`${line}\n`);
  const ending = endingSignals();
  try {
    const loading = loadWorkerSource(what, address.queue, settings, note);
    const source = await Promise.race([loading, ending.first]);
    if (typeof source === 'string') return EXIT_CODES.ok; // told to end before it had begun
    try {
      const { rule = source.rule ?? { kind: 'adaptive' }, options } = settings;
      const job = { what, source, rule, options: { ...source.options, ...options, ...address } };
      return await runProcessor(job, flags, terminal, ending);
    } finally {
      await source.close();
    }
  } finally {
    ending.stop();
  }
}

interface Job {
  readonly what: string;
  readonly source: WorkerSource;
  readonly rule: BatchRule;
  readonly options: RedisProcessorOptions<unknown> & { readonly queue: string };
}

async function runProcessor(
  { what, source, rule, options }: Job,
  { verbose = false, quiet = false }: WorkerFlags,
  terminal: Terminal,
  ending: EndingSignals,
): Promise<number> {
  const { queue, name = queue, maxBatchSize = 64, maxDeliveries = 3 } = options;
  const log = new WorkerLog(terminal, { queue, maxBatchSize, maxDeliveries, rule, verbose, quiet });
  const { handler, availability } = source;
  const run = typeof handler === 'function' ? handler : handler.processBatch.bind(handler);
  const processor = new RedisProcessor(
    (items: unknown[], context: BatchContext) => {
      log.batchStarts(context);
      return run(items, context);
    },
    { ...options, policy: policyOf(rule) },
  );
  const note = (line: string) => log.note(line);
  const outagePause = availability && new OutagePause({ availability, processor, note });
  const stopListening = onBatch((batch) => {
    if (batch.name !== name) return;
    log.batchEnded(batch);
    if (batch.succeeded > 0) outagePause?.answered();
  });
  try {
    const signal = await started(processor, ending, log);
    if (signal !== undefined) {
      processor.destroy();
      return EXIT_CODES.ok;
    }
    processor.onNotice((notice) => log.notice(notice));
    log.started();
    log.note(`Processes the queue ${queue} with ${isUrl(what) ? shownUrl(what) : what}. Ctrl-C stops it.`);
    log.note(`${await ending.first}. Finishing what it holds; a second signal gives it back to the queue.`);
    return await finish(processor, ending);
  } finally {
    stopListening();
    outagePause?.stop();
  }
}

/**
 * The signal, when it is told to end before. Who cannot reach Redis at all has a mistake in the address, most likely; but
 * one that says "not yet" is at the right one.
 */
async function started(
  processor: RedisProcessor<unknown, unknown>,
  ending: EndingSignals,
  log: WorkerLog,
): Promise<NodeJS.Signals | undefined> {
  const unreachable = new Promise<never>((_, reject) => {
    processor.onNotice((notice) => {
      if (notice.event !== 'disconnected') return;
      if (isNotYet(notice.error)) log.note(`${messageOf(notice.error)}. Waits for it.`);
      else reject(new Failure(messageOf(notice.error), { cause: notice.error }));
    });
  });
  unreachable.catch(() => {}); // nobody asks once it has started
  try {
    return await Promise.race([processor.ready.then(() => undefined), unreachable, ending.first]);
  } catch (error) {
    processor.destroy();
    throw error;
  }
}

/** Redis is there, and says itself that it will take commands before long. */
function isNotYet(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^(?:LOADING|MASTERDOWN|CLUSTERDOWN|BUSY|TRYAGAIN)\b/.test(error.message) || isNotYet(error.cause);
}

async function finish(processor: RedisProcessor<unknown, unknown>, ending: EndingSignals): Promise<number> {
  const closed = processor.close();
  const signal = await Promise.race([closed.then(() => undefined), ending.second]);
  if (signal === undefined) return EXIT_CODES.ok;
  processor.destroy();
  const tooLong = new Promise<void>((resolve) => void realClock.setTimer(resolve, GIVE_BACK_MS));
  await Promise.race([closed, tooLong]);
  return 128 + constants.signals[signal];
}
