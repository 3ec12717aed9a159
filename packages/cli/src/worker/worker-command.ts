/** `batchwise worker`: runs the batches of a queue in Redis until a signal. */
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
import { finishHelp, type HelpFooter } from '../terminal/help.js';
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

const FOOTER: HelpFooter = {
  examples: [
    'batchwise worker handler.ts --queue digits',
    'batchwise worker models/digits.onnx --queue digits --max-batch-size 32',
    'batchwise worker model.py:Classifier --queue reviews --replicas 2 --gpu 0,1',
    'batchwise worker grpc://gpu:8001/minilm --queue minilm',
    'batchwise worker service.ts#iris --queue iris --url redis://cache:6379/1',
  ],
  notes: [
    'A module exports handler, a function (items, context) => results or an object with processBatch(), or has it as ' +
      'default export. It may also export options, such as { costOf, maxBatchSize }, and close().',
    'By default the adaptive policy dispatches a batch at once while the worker is idle. With --batch-time a batch is ' +
      'dispatched when it is full or its oldest item has been held that long. -bs and -bt are short for --batch-size ' +
      'and --batch-time.',
    'SIGTERM and Ctrl-C finish the items in flight and stop the worker. A second signal returns them to the queue and ' +
      'stops the worker at once.',
  ],
  exitCodes: { 0: 'stopped by a signal', 1: 'the start failed' },
};

const LONGEST_MS = 1000 * LONGEST_SECONDS;
const MOST_SLOTS = 1024;
/** Time limit for the return of items. If Redis is unreachable, their leases expire. */
const GIVE_BACK_MS = 1000;

export function setUpWorker(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  const milliseconds = positiveNumber(LONGEST_MS);
  command
    .description('Runs the batches of a queue in Redis with a handler, a model or a runner of a service.')
    .argument('<source>', 'handler.ts, model.py, model.onnx, service.ts#runner or the URL of an upstream')
    .optionsGroup('Queue:');
  addQueueFlags(command)
    .addOption(
      new Option('--payload <kind>', 'encoding of items, the same as of the clients (default: json)').choices(
        ['json', 'msgpack', 'bytes'],
      ),
    )
    .optionsGroup('Batches:')
    .option(
      '--batch-size, --max-batch-size <count>',
      'maximum batch size (default: DYNAMIC_BATCHER__BATCH_SIZE, else 64)',
      wholeNumber(1, LARGEST_BATCH),
    )
    .option(
      '--batch-time <seconds>',
      'window policy: maximum time that an item is held (default: DYNAMIC_BATCHER__BATCH_TIME)',
      positiveNumber(LONGEST_SECONDS),
    )
    .addOption(
      new Option(
        '--policy <name>',
        'when a batch is dispatched (default: adaptive, window with --batch-time)',
      ).choices(['adaptive', 'greedy', 'window']),
    )
    .option('--max-wait-ms <ms>', 'maximum time that an item is held while a slot is free', milliseconds)
    .option('--target-latency-ms <ms>', 'target for the total latency of an item', milliseconds)
    .option('--concurrency <count>', 'concurrent batches (default: 1)', wholeNumber(1, MOST_SLOTS))
    .option(
      '--handler-timeout-ms <ms>',
      'time limit of a batch (default: none; 30000 for a model)',
      milliseconds,
    )
    .option('--isolate', 'bisect a batch that throws until only the faulty items fail')
    .optionsGroup('Python model:')
    .option(
      '--python <path>',
      'interpreter or virtual environment (default: BATCHWISE__RUNNERS__PYTHON, else VIRTUAL_ENV, .venv next to the model, python3)',
    )
    .option(
      '--replicas <count>',
      'processes, each with a copy of the model (default: 1)',
      wholeNumber(1, MOST_SLOTS),
    )
    .option('--gpu <devices>', 'devices of the processes, such as 0,1 (CUDA_VISIBLE_DEVICES)', deviceList)
    .optionsGroup('Failures:')
    .option(
      '--lease-ms <ms>',
      'time without a heartbeat after which other workers take over the items (default: 15000)',
      positiveNumber(LONGEST_MS),
    )
    .option(
      '--max-deliveries <count>',
      'deliveries without an answer before an item becomes a dead letter (default: 3)',
      wholeNumber(1, 1000),
    )
    .optionsGroup('Output:')
    .addOption(new Option('--verbose', 'also print how each batch ended').conflicts('quiet'))
    .option('--quiet', 'print no line for each batch');
  finishHelp(command, FOOTER).action(async (source: string, flags: WorkerFlags) =>
    exit(await work(source, flags, terminal)),
  );
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
    if (typeof source === 'string') return EXIT_CODES.ok; // a signal before the start
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
    log.note(
      `${await ending.first} received. Finishing its items. A second signal returns them to the queue.`,
    );
    return await finish(processor, ending);
  } finally {
    stopListening();
    outagePause?.stop();
  }
}

/**
 * Returns the signal that ended the start. An unreachable Redis fails the start, because the address is probably wrong. A
 * Redis that is loading is waited for.
 */
async function started(
  processor: RedisProcessor<unknown, unknown>,
  ending: EndingSignals,
  log: WorkerLog,
): Promise<NodeJS.Signals | undefined> {
  const unreachable = new Promise<never>((_, reject) => {
    processor.onNotice((notice) => {
      if (notice.event !== 'disconnected') return;
      if (isNotYet(notice.error)) log.note(`${messageOf(notice.error)}. Waiting for Redis.`);
      else reject(new Failure(messageOf(notice.error), { cause: notice.error }));
    });
  });
  unreachable.catch(() => {}); // ignored after the start
  try {
    return await Promise.race([processor.ready.then(() => undefined), unreachable, ending.first]);
  } catch (error) {
    processor.destroy();
    throw error;
  }
}

/** Redis is reachable and will accept commands soon. */
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
