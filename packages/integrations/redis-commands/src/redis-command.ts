/** A command, and which commands cannot share a connection with those of other callers. */
import { BatchwiseError } from 'batchwise';

export type RedisArgument = string | number | Buffer;

/** `['SET', 'key', 'value', 'EX', 60]` */
export type RedisCommand = readonly [name: string, ...args: RedisArgument[]];

const BLOCKING = 'blocks the connection, and all commands behind it';
const CONNECTION = 'changes the connection for all its callers';
const PUSHES = 'makes the connection receive messages instead of replies';
const TRANSACTION = 'would include commands of other callers in its transaction';

const REFUSED = new Map<string, string>([
  ...reasons(BLOCKING, 'BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF'),
  ...reasons(CONNECTION, 'SELECT AUTH HELLO RESET QUIT ASKING READONLY READWRITE'),
  ...reasons(
    PUSHES,
    'SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC',
  ),
  ...reasons(TRANSACTION, 'MULTI EXEC DISCARD WATCH UNWATCH'),
]);

const REFUSED_OF_CLIENT = new Set('REPLY TRACKING CACHING NO-EVICT NO-TOUCH SETNAME SETINFO'.split(' '));

function reasons(reason: string, names: string): [string, string][] {
  return names.split(' ').map((name) => [name, reason]);
}

/** The error of a command that must not be sent; undefined if it may be. */
export function invalidCommand(command: unknown): BatchwiseError | undefined {
  if (!Array.isArray(command) || typeof command[0] !== 'string' || command[0] === '') {
    return invalid(`Expected a command such as ['GET', 'key'], got ${nameOf(command)}.`);
  }
  const [name, ...args] = command as [string, ...unknown[]];
  const wrong = args.findIndex((arg) => !isArgument(arg));
  if (wrong >= 0) {
    const came = nameOf(args[wrong]);
    return invalid(
      `${name}: expected argument ${wrong + 1} to be a string, a number or a Buffer, got ${came}.`,
    );
  }
  const reason = refusal(name.toUpperCase(), args);
  return reason === undefined ? undefined : invalid(`${name} cannot be sent in a pipeline: it ${reason}.`);
}

function isArgument(arg: unknown): arg is RedisArgument {
  return typeof arg === 'string' || (typeof arg === 'number' && !Number.isNaN(arg)) || Buffer.isBuffer(arg);
}

function refusal(name: string, args: readonly unknown[]): string | undefined {
  switch (name) {
    case 'CLIENT':
      return REFUSED_OF_CLIENT.has(String(args[0]).toUpperCase()) ? CONNECTION : undefined;
    case 'XREAD':
      return blocks(args) ? BLOCKING : undefined;
    case 'XREADGROUP':
      // After GROUP, the name of the group and the name of the consumer, which may be any.
      return blocks(args.slice(3)) ? BLOCKING : undefined;
    default:
      return REFUSED.get(name);
  }
}

/** BLOCK comes before STREAMS; behind it there are keys. */
function blocks(args: readonly unknown[]): boolean {
  const words = args.map((arg) => String(arg).toUpperCase());
  const streams = words.indexOf('STREAMS');
  return (streams < 0 ? words : words.slice(0, streams)).includes('BLOCK');
}

function invalid(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message);
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined || Number.isNaN(value)) return String(value);
  return Array.isArray(value) ? 'an array' : typeof value;
}
