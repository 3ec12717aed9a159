/**
 * Settings from the environment, where no argument is given: `REDIS__URL`, or `REDIS__HOST`, `REDIS__PORT` and
 * `REDIS__DB`; `REDIS__USERNAME`, `REDIS__PASSWORD`; `REDIS__REPLY_TIMEOUT_MS`; and the queue, `REDIS__STREAM_KEY_REQUEST`.
 */
import { BatchwiseError } from 'batchwise';
import type { ConnectionOptions } from './connection-options.js';
import { targetOf } from './target.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The default queue, as in dynamic_batcher. */
export const DEFAULT_QUEUE = 'request';

export function queueFrom(queue: string | undefined, environment: Environment): string {
  return queue ?? set(environment, 'REDIS__STREAM_KEY_REQUEST') ?? DEFAULT_QUEUE;
}

/**
 * Precedence: argument, environment, default. Throws INVALID_OPTION with the name of the variable for an invalid value.
 */
export function connectionFrom(options: ConnectionOptions, environment: Environment): ConnectionOptions {
  const { url, database } = addressFrom(options, environment);
  return {
    url,
    username: options.username ?? inUrl(url, 'username') ?? set(environment, 'REDIS__USERNAME'),
    password: options.password ?? inUrl(url, 'password') ?? set(environment, 'REDIS__PASSWORD'),
    database: options.database ?? database,
    tls: options.tls,
    replyTimeoutMs:
      options.replyTimeoutMs ?? wholeNumber(environment, 'REDIS__REPLY_TIMEOUT_MS', 100, 86_400_000),
  };
}

function addressFrom(
  options: ConnectionOptions,
  environment: Environment,
): { readonly url: string; readonly database?: number | undefined } {
  if (options.url !== undefined) return { url: options.url };

  const url = set(environment, 'REDIS__URL');
  if (url !== undefined) {
    checkUrl(url);
    return { url };
  }
  const host = set(environment, 'REDIS__HOST') ?? 'localhost';
  if (/[\s/@?#,[\]]/.test(host)) {
    throw invalid('REDIS__HOST', 'the name or address of a host', host);
  }
  const port = wholeNumber(environment, 'REDIS__PORT', 1, 65_535) ?? 6379;
  const scheme = options.tls === undefined ? 'redis' : 'rediss';
  return {
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    database: wholeNumber(environment, 'REDIS__DB', 0, 999_999_999),
  };
}

/** An empty variable is one that is not set: that is how shells and compose files say it. */
function set(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  return value === '' ? undefined : value;
}

function wholeNumber(
  environment: Environment,
  name: string,
  least: number,
  most: number,
): number | undefined {
  const text = set(environment, name);
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw invalid(name, `a whole number from ${least} to ${most}`, text);
}

function inUrl(url: string, part: 'username' | 'password'): string | undefined {
  return targetOf({ url }).login[part];
}

function checkUrl(url: string): void {
  try {
    targetOf({ url });
  } catch (error) {
    throw new BatchwiseError('INVALID_OPTION', `REDIS__URL, ${(error as Error).message}`, { cause: error });
  }
}

function invalid(name: string, expected: string, came: string): BatchwiseError {
  return new BatchwiseError(
    'INVALID_OPTION',
    `${name}: expected ${expected}, got ${JSON.stringify(came.slice(0, 40))}.`,
  );
}
