/** The flags of this example. */
import { parseArgs } from 'node:util';
import { SetupError } from './setup-error.js';

export interface Settings {
  readonly help: boolean;
  /** How long each way of calling the model is measured. */
  readonly seconds: number;
  readonly callers: number;
  readonly maxBatchSize: number;
}

export const HELP = `The digits model, called one by one and through a batcher.

  npm run digits                        from the root of the repository
  npm run digits -- --max-batch-size 8  with flags

  --seconds <number>         how long each way is measured (default 4)
  --callers <count>          how many callers ask at the same time (default 64)
  --max-batch-size <count>   the most digits the batcher may put in a batch (default 32)
  --help                     this text
`;

export function readCommandLine(args: readonly string[]): Settings {
  const { values } = parsed(args);
  return {
    help: values.help,
    seconds: numberBetween('--seconds', values.seconds, 0.1, 600),
    callers: countBetween('--callers', values.callers, 1, 10_000),
    maxBatchSize: countBetween('--max-batch-size', values['max-batch-size'], 1, 1024),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        seconds: { type: 'string', default: '4' },
        callers: { type: 'string', default: '64' },
        'max-batch-size': { type: 'string', default: '32' },
      },
    });
  } catch (error) {
    // parseArgs goes on about positional arguments after its first sentence; there are none here.
    const [problem] = (error as Error).message.split('. ');
    throw new SetupError(`${problem}. See --help for the flags there are.`, { cause: error });
  }
}

function numberBetween(flag: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new SetupError(`${flag}: expected a number from ${least} to ${most}, got '${text}'.`);
}

function countBetween(flag: string, text: string, least: number, most: number): number {
  const value = numberBetween(flag, text, least, most);
  if (Number.isInteger(value)) return value;
  throw new SetupError(`${flag}: expected a whole number, got '${text}'.`);
}
