/** `batchwise queue status`: the state of a queue in Redis. */
import { RedisQueue } from '@batchwise/redis';
import { BatchwiseError, realClock } from 'batchwise';
import type { Command } from 'commander';
import { endingSignals } from '../terminal/ending-signals.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { errorLine, messageOf } from '../terminal/failure.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import { paletteFor } from '../terminal/palette.js';
import { isLive, type Terminal } from '../terminal/terminal.js';
import { addQueueFlags, type QueueFlags, queueAddress } from './queue-flags.js';
import { queueJson, queueText } from './queue-text.js';

interface StatusFlags extends QueueFlags {
  readonly json?: boolean;
  readonly watch?: boolean;
}

const FOOTER: HelpFooter = {
  examples: [
    'batchwise queue status --queue digits',
    'batchwise queue status --queue digits --watch',
    'batchwise queue status --queue digits --json | jq .depth',
  ],
  notes: ['The command does not change the queue. A queue that does not exist is empty.'],
  exitCodes: { 0: 'done', 1: 'Redis is unreachable' },
};

const EVERY_MS = 1000;
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

export function setUpQueue(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  finishHelp(command.description('Shows the state of a queue in Redis.').helpCommand(false), {});
  const status = command
    .command('status')
    .summary('show the items and the workers of a queue')
    .description(
      'Prints the waiting and running items of a queue, their age, the workers and their throughput.',
    );
  addQueueFlags(status)
    .option('--json', 'print JSON; with --watch one object per line')
    .option('--watch', 'repeat every second until Ctrl-C');
  finishHelp(status, FOOTER).action(async (flags: StatusFlags) => exit(await showStatus(flags, terminal)));
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

/** Repeats until a signal, also while Redis is unreachable. */
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
        terminal.stderr.write(errorLine(messageOf(error), terminal));
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
