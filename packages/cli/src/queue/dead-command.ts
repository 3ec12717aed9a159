/** `batchwise dead`: the items of a queue that were delivered again and again and never answered. */
import { type LettersOutcome, RedisQueue } from '@batchwise/redis';
import { type Command, Option } from 'commander';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { UsageFailure } from '../terminal/failure.js';
import { wholeNumber } from '../terminal/flag-values.js';
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

const EXAMPLES = `
Examples:
  $ batchwise dead list --queue digits
  $ batchwise dead retry --queue digits 1712345678901-0 1712345678907-0
  $ batchwise dead drop --queue digits --all

An item is dead when it was delivered 3 times (worker --max-deliveries) and never answered: each time its
processor ended or was cut off. Its caller was told. It is kept until it is retried or dropped.`;

const EXIT_CODES_TEXT =
  '\nExit codes: 0 done, 1 something failed, or an id is not among the dead letters, 2 wrong flags.';

export function setUpDead(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description('The dead letters of a queue in Redis: items that were delivered and never answered.')
    .helpOption('-h, --help', 'this text')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  const list = command
    .command('list')
    .summary('what died, when and how')
    .description('Lists dead letters, those that died first coming first.');
  addQueueFlags(list)
    .option('--count <number>', 'how many at most', wholeNumber(1, 1_000_000), 100)
    .option('--after <id>', 'go on behind this one')
    .option('--json', 'as JSON, with all that is known of each')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXIT_CODES_TEXT)
    .action(async (flags: ListFlags) => exit(await listLetters(flags, terminal)));
  addHandling(command, 'retry', 'Retried', terminal, exit)
    .summary('put some or all back into the queue')
    .description(
      'Puts dead letters back into the queue: they run once more, and nobody is told their answers.',
    );
  addHandling(command, 'drop', 'Dropped', terminal, exit)
    .summary('throw some or all away')
    .description('Throws dead letters away.');
}

function addHandling(
  dead: Command,
  name: 'retry' | 'drop',
  done: string,
  terminal: Terminal,
  exit: (code: number) => void,
): Command {
  const command = dead.command(name).argument('[ids...]', 'which, as dead list shows them');
  return addQueueFlags(command)
    .addOption(new Option('--all', 'all that are there now'))
    .option('--json', 'as JSON')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXIT_CODES_TEXT)
    .action(async (ids: string[], flags: HandleFlags) =>
      exit(await handleLetters(name, done, ids, flags, terminal)),
    );
}

async function listLetters(flags: ListFlags, terminal: Terminal): Promise<number> {
  const { count, after, json } = flags;
  const address = queueAddress(flags, terminal.env);
  await using operator = new RedisQueue(address);
  // One more than wanted, to know whether that is all.
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
    throw new UsageFailure(`expected the ids of dead letters, as batchwise dead list shows them, or --all.`);
  }
  await using operator = new RedisQueue(queueAddress(flags, terminal.env));
  const { count, missing }: LettersOutcome = await operator[name](all ? 'all' : ids);
  terminal.stdout.write(
    json
      ? `${JSON.stringify({ count, missing }, null, 2)}\n`
      : `${done} ${count === 1 ? '1 dead letter' : `${count} dead letters`}.\n`,
  );
  if (missing.length === 0) return EXIT_CODES.ok;
  terminal.stderr.write(`error: not among the dead letters: ${missing.join(', ')}\n`);
  return EXIT_CODES.failed;
}
