/** The group in which the processors of a queue share its streams. */
import type { Clock } from 'batchwise';
import { LinkLostError, type RedisLink, ReplyError } from './connection/link.js';
import { GROUP, type QueueKeys } from './queue-keys.js';

/** After an error that may pass it is tried again. */
const AGAIN_AFTER_MS = 1000;

/** Makes it, and the streams, where they are not there. */
export async function makeGroup(link: RedisLink, keys: QueueKeys): Promise<void> {
  for (const stream of keys.requests) {
    try {
      await link.send(stream, ['XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM']);
    } catch (error) {
      if (!(error instanceof ReplyError && error.code === 'BUSYGROUP')) throw error;
    }
  }
}

/** The same, until it is there: over lost connections, and for as long as Redis has no memory left, which is told. */
export async function makeGroupInTheEnd(
  link: RedisLink,
  keys: QueueKeys,
  clock: Clock,
  onDelay: (error: Error) => void,
): Promise<void> {
  for (;;) {
    try {
      await makeGroup(link, keys);
      return;
    } catch (error) {
      if (error instanceof LinkLostError) continue;
      // It has no memory now; what is in the queue it has all the same.
      if (!(error instanceof ReplyError && error.code === 'OOM')) throw error;
      onDelay(error);
      await new Promise<void>((resolve) => {
        clock.setTimer(resolve, AGAIN_AFTER_MS);
      });
    }
  }
}
