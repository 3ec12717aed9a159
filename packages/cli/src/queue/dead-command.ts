/** `batchwise dead`: the dead letters of a queue. */
import { type LettersOutcome, RedisQueue } from '@batchwise/redis';
import type { Command } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { errorLine, UsageFailure } from '../terminal/failure.js';
import { wholeNumber } from '../terminal/flag-values.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import type { Terminal } from '../terminal/terminal.js';
import { letterJson, lettersTable } from './dead-text.js';
import { addQueueFlags, type QueueFlags, queueAddress } from './queue-flags.js';

interface ListFlags extends QueueFlags {
  readonly count: number;
  readonly after?: string;
  readonly json?: boolean;
}

interface HandleFlags extends QueueFlags {
  readonly all?: boolean;
  readonly json?: boolean;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise dead list --queue digits',
    'batchwise dead retry --queue digits 1712345678901-0 1712345678907-0',
    'batchwise dead drop --queue digits --all',
  ],
  notes: [
    'An item becomes a dead letter after 3 deliveries without an answer (worker --max-deliveries): each time its worker ' +
      'ended or lost its connection. Its caller got an error. A dead letter is kept until it is retried or dropped.',
  ],
};

const EXIT_CODES_TEXT: HelpFooter = { exitCodes: { 0: 'done', 1: 'failed, or an id is not a dead letter' } };

export function setUpDead(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description(
      'Lists, retries or drops the dead letters of a queue in Redis: items that were never answered.',
    )
    .helpCommand(false);
  finishHelp(command, FOOTER);
  const list = command
    .command('list')
    .summary('list dead letters')
    .description('Lists dead letters, oldest first.');
  addQueueFlags(list)
    .option('--count <number>', 'maximum number', wholeNumber(1, 1_000_000), 100)
    .option('--after <id>', 'start after this id')
    .option('--json', 'print JSON, with all fields');
  finishHelp(list, EXIT_CODES_TEXT).action(async (flags: ListFlags) =>
    exit(await listLetters(flags, terminal)),
  );
  addHandling(command, 'retry', 'Retried', terminal, exit)
    .summary('return dead letters to the queue')
    .description('Returns dead letters to the end of the queue. No caller waits for their results.');
  addHandling(command, 'drop', 'Dropped', terminal, exit)
    .summary('delete dead letters')
    .description('Deletes dead letters.');
}

function addHandling(
  dead: Command,
  name: 'retry' | 'drop',
  done: string,
  terminal: Terminal,
  exit: (code: number) => void,
): Command {
  const command = dead.command(name).argument('[ids...]', 'ids from batchwise dead list');
  addQueueFlags(command).option('--all', 'all dead letters of the queue').option('--json', 'print JSON');
  return finishHelp(command, EXIT_CODES_TEXT).action(async (ids: string[], flags: HandleFlags) =>
    exit(await handleLetters(name, done, ids, flags, terminal)),
  );
}

async function listLetters(flags: ListFlags, terminal: Terminal): Promise<number> {
  const { count, after, json } = flags;
  const address = queueAddress(flags, terminal.env);
  await using operator = new RedisQueue(address);
  // One more, to know whether there are more.
  const found = await operator.deadLetters({ count: count + 1, after });
  const letters = found.slice(0, count);
  const { stdout, stderr } = terminal;
  if (json) stdout.write(`${JSON.stringify(letters.map(letterJson), null, 2)}\n`);
  else if (letters.length === 0) stdout.write(`No dead letters in ${address.queue}.\n`);
  else stdout.write(`${lettersTable(letters, stdout.columns).join('\n')}\n`);
  if (found.length > letters.length) stderr.write(`There are more: --after ${letters.at(-1)?.id}\n`);
  return EXIT_CODES.ok;
}

async function handleLetters(
  name: 'retry' | 'drop',
  done: string,
  ids: readonly string[],
  flags: HandleFlags,
  terminal: Terminal,
): Promise<number> {
  const { all = false, json } = flags;
  if (all && ids.length > 0) throw new UsageFailure('expected ids or --all, got both.');
  if (!all && ids.length === 0) {
    throw new UsageFailure('expected ids of dead letters, from batchwise dead list, or --all.');
  }
  await using operator = new RedisQueue(queueAddress(flags, terminal.env));
  const { count, missing }: LettersOutcome = await operator[name](all ? 'all' : ids);
  terminal.stdout.write(
    json
      ? `${JSON.stringify({ count, missing }, null, 2)}\n`
      : `${done} ${count === 1 ? '1 dead letter' : `${count} dead letters`}.\n`,
  );
  if (missing.length === 0) return EXIT_CODES.ok;
  terminal.stderr.write(errorLine(`no dead letters: ${missing.join(', ')}`, terminal));
  return EXIT_CODES.failed;
}
