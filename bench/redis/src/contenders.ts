/** The contenders in Node, by name. Each process loads only the one it runs. */
import type { Contender } from './contender.js';

export const CONTENDERS = {
  batchwise: async () => (await import('./contenders/batchwise.js')).batchwise,
  spike: async () => (await import('./contenders/spike.js')).spike,
  'bullmq-20': async () => (await import('./contenders/bullmq.js')).bullmq20,
  'bullmq-200': async () => (await import('./contenders/bullmq.js')).bullmq200,
} satisfies Record<string, () => Promise<Contender>>;

export type ContenderName = keyof typeof CONTENDERS;

export async function contenderNamed(name: string): Promise<Contender> {
  if (!(name in CONTENDERS)) {
    throw new Error(`expected one of ${Object.keys(CONTENDERS).join(', ')}, got '${name}'`);
  }
  return CONTENDERS[name as ContenderName]();
}
