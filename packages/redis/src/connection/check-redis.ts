/** Whether a Redis can keep what is promised here. Asked by INFO, which works where CONFIG is forbidden. */
import { BatchwiseError, type Clock } from 'batchwise';
import { LinkClosedError, LinkLostError, type RedisLink, type Reply, ReplyError } from './link.js';

const LEAST_VERSION = [7, 0] as const;

/** Throws INVALID_OPTION, with the reason and the remedy, when the node that has the key will not do. */
export async function checkRedis(link: RedisLink, key: string): Promise<void> {
  checkVersion(await info(link, key, 'server', 'redis_version'));
  checkEviction(await info(link, key, 'memory', 'maxmemory_policy'));
}

function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = LEAST_VERSION;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw unfit(`expected Redis ${LEAST_VERSION.join('.')} or later, got ${version}`);
}

function checkEviction(policy: string): void {
  const problem = evictionProblem(policy);
  if (problem !== undefined) throw problem;
}

/** How often it is asked again: one INFO a minute. */
const AGAIN_AFTER_MS = 60_000;

/**
 * Asks again after each reconnect, when it may be another Redis, and every minute, as the policy can be changed at any
 * time. Calls back when Redis begins to evict, and with undefined when it no longer does. Ends with the link.
 */
export function watchEviction(
  link: RedisLink,
  key: string,
  clock: Clock,
  onChange: (problem: BatchwiseError | undefined) => void,
): void {
  let known: string | undefined;
  let isOver = false;
  const look = async () => {
    try {
      const problem = evictionProblem(await info(link, key, 'memory', 'maxmemory_policy'));
      if (problem?.message === known) return;
      known = problem?.message;
      onChange(problem);
    } catch (error) {
      isOver = error instanceof LinkClosedError; // any other error is told to those who submit or fetch
    }
  };
  const lookLater = () => {
    const timer = clock.setTimer(() => void look().then(() => isOver || lookLater()), AGAIN_AFTER_MS);
    (timer as { unref?: () => void } | undefined)?.unref?.(); // no reason to keep a process alive
  };
  let wasUp = link.isUp;
  link.onUp(() => {
    if (wasUp) void look();
    wasUp = true;
  });
  lookLater();
}

function evictionProblem(policy: string): BatchwiseError | undefined {
  if (policy === 'noeviction') return undefined;
  return unfit(
    `expected maxmemory-policy noeviction, got ${policy}: with full memory, Redis would silently evict ` +
      'accepted requests and results. Run CONFIG SET maxmemory-policy noeviction, and set it in ' +
      'redis.conf too, or use another Redis',
  );
}

async function info(link: RedisLink, key: string, section: string, field: string): Promise<string> {
  let text: string;
  try {
    text = String(await asked(link, key, section));
  } catch (error) {
    if (!(error instanceof ReplyError) || error.code !== 'NOPERM') throw error;
    throw unfit(
      `expected permission for INFO, which has version and maxmemory-policy, got "${error.message}". ` +
        'Grant it: ACL SETUSER <user> +info',
      error,
    );
  }
  const value = new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(text)?.[1];
  if (value === undefined)
    throw unfit(`expected ${field} in INFO ${section}, got none. Is this server Redis?`);
  return value;
}

/** A connection that breaks on the way says nothing about Redis: asked again over the next one. */
async function asked(link: RedisLink, key: string, section: string): Promise<Reply> {
  for (;;) {
    try {
      return await link.send(key, ['INFO', section]);
    } catch (error) {
      if (!(error instanceof LinkLostError)) throw error;
    }
  }
}

function unfit(message: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `Redis: ${message}.`, cause === undefined ? {} : { cause });
}
