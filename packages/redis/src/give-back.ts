/**
 * Gives back to the queue what a processor holds and will not run: it counts as never delivered, and the next processor
 * to look takes it over, without a lease in between.
 */
import type { RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import { byLevel, type Delivery, tellDelivery } from './delivery.js';
import { ALL_HELD } from './held-items.js';
import { GROUP, type QueueKeys } from './queue-keys.js';

export interface GiveBackOwner {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly consumer: string;
  readonly settings: { readonly leaseMs: number };
}

const release = loadScript('release');

/** One that leaves is no longer listed, and hears no more. */
export async function giveBack<I>(
  { keys, link, consumer, settings }: GiveBackOwner,
  deliveries: readonly Delivery<I>[],
  { isLeaving }: { readonly isLeaving: boolean },
): Promise<void> {
  await link.run(
    release,
    [...keys.requests, keys.processors, keys.gone + consumer],
    [
      ...[GROUP, consumer, ALL_HELD, String(settings.leaseMs), isLeaving ? '1' : '0'],
      ...byLevel(deliveries, tellDelivery),
    ],
  );
}
