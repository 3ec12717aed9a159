/** `batchwise queue status`: how a queue in Redis stands. */
import { RedisQueue } from '@batchwise/redis';
import { BatchwiseError, realClock } from 'batchwise';
import type { Command } from 'commander';
import { endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { messageOf } from '../terminal/failure.js';
import { paletteFor } from '../terminal/palette.js';
import { isLive, type Terminal } from '../terminal/terminal.js';
import { addQueueFlags, type QueueFlags, queueAddress } from './queue-flags.js';
import { queueJson, queueText } from './queue-text.js';

interface StatusFlags extends QueueFlags {
  readonly json?: boolean;
  readonly watch?: boolean;
}

const EXAMPLES = `
Examples:
  $ batchwise queue status --queue digits
  $ batchwise queue status --queue digits --watch
  $ batchwise queue status --queue digits --json | jq .depth

Looking at a queue changes nothing; one that does not exist is empty.

Exit codes: 0 done, 1 Redis cannot be reached, or does not answer, 2 wrong flags.`;

const EVERY_MS = 1000;
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

export function setUpQueue(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description('Tells how a queue in Redis stands.')
    .helpOption('-h, --help', 'this text')
    .helpCommand(false);
  const status = command
    .command('status')
    .summary('how much waits and runs, for how long, and who works')
    .description(
      'Prints how much waits and runs, for how long, who processes it and how fast, and what has died.',
    );
  addQueueFlags(status)
    .option('--json', 'as JSON; with --watch one object a line')
    .option('--watch', 'again every second, until Ctrl-C')
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: StatusFlags) => exit(await showStatus(flags, terminal)));
}

async function showStatus(flags: StatusFlags, terminal: Terminal): Promise<number> {
  const operator = new RedisQueue(queueAddress(flags, terminal.env));
  try {
    const show = async () => terminal.stdout.write(await shown(operator, flags, terminal));
    await show();
    if (flags.watch) await watch(show, terminal);
    return EXIT_CODES.ok;
  } finally {
    await operator.close();
  }
}

/** Until a signal. Redis may be away for a while. */
async function watch(show: () => Promise<unknown>, terminal: Terminal): Promise<void> {
  const ending = endingSignals();
  let hasEnded = false;
  const ended = ending.first.then(() => {
    hasEnded = true;
  });
  try {
    for (;;) {
      let timer: unknown;
      const aMoment = new Promise<void>((resolve) => {
        timer = realClock.setTimer(resolve, EVERY_MS);
      });
      await Promise.race([aMoment, ended]);
      realClock.clearTimer(timer);
      if (hasEnded) return;
      await show().catch((error: unknown) => {
        if (!(error instanceof BatchwiseError && error.code === 'UNAVAILABLE')) throw error;
        terminal.stderr.write(`error: ${messageOf(error)}\n`);
      });
    }
  } finally {
    ending.stop();
  }
}

async function shown(
  operator: RedisQueue,
  { json, watch }: StatusFlags,
  terminal: Terminal,
): Promise<string> {
  const { stdout, env } = terminal;
  const status = await operator.status();
  if (json) return `${JSON.stringify(queueJson(status), null, watch ? 0 : 2)}\n`;
  const text = queueText(status, paletteFor(stdout, env));
  if (!watch) return text;
  return isLive(stdout, env) ? `${CLEAR}${text}` : `${text}\n`;
}
