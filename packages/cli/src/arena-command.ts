/** `batchwise arena`: the policies side by side. */
import type { Command } from 'commander';
import { Failure } from './failure.js';
import { wholeNumber } from './flag-values.js';
import type { Terminal } from './terminal.js';

export interface ArenaFlags {
  readonly scenario?: string;
  readonly json?: boolean;
  readonly html?: string;
  readonly quick?: boolean;
  readonly seed?: number;
}

const EXAMPLES = `
Examples:
  $ batchwise arena --quick
  $ batchwise arena --html arena.html
  $ batchwise arena --scenario mine.json --json`;

export function addArenaCommand(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  program
    .command('arena')
    .summary('the policies side by side, against the bounds')
    .description(
      'Runs the batching policies, ours and those of others, through the same simulated traffic, and compares\n' +
        'them with what is possible at best.',
    )
    .option('--scenario <file>', 'a scenario of your own (JSON), instead of the grid')
    .option('--quick', 'a representative slice of the grid')
    .option('--json', 'the results as JSON')
    .option('--html <file>', 'a page with plots, in one file')
    .option('--seed <number>', 'of the simulated randomness', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .helpOption('-h, --help', 'this text')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: ArenaFlags) => exit(await arena(flags, terminal)));
}

async function arena(_flags: ArenaFlags, _terminal: Terminal): Promise<number> {
  throw new Failure('the arena is not part of this build yet.');
}
