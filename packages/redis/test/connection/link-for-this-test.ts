import { onTestFinished } from 'vitest';
import { type LinkOptions, openLink, type RedisLink } from '../../src/connection/link.js';

/** Gone when the test is over, however it ends. */
export function linkForThisTest(options: Partial<LinkOptions>): RedisLink {
  const link = openLink({ replies: 'text', name: 'test', ...options });
  onTestFinished(() => link.destroy());
  return link;
}
