/** The programs of this folder, started as processes of a test's own. They run what is built, not the sources. */
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from '../support/child.js';

export interface ProgramOptions {
  readonly url: string;
  readonly queue: string;
  /** How far the clock of its machine is off. */
  readonly skewMs?: number;
  readonly [option: string]: unknown;
}

interface Ready {
  readonly event: 'ready';
  readonly consumer: string;
  readonly clientId: string;
}

/** One that fetches, once it does; it tells by messages what it runs. */
export function startProcessor(options: ProgramOptions): Promise<Program> {
  return startProgram('processor', options);
}

export function startWeb(options: ProgramOptions): Promise<Program> {
  return startProgram('web', options);
}

export interface Program extends AsyncDisposable {
  readonly child: Child;
  /** Its name in Redis: of a processor. */
  readonly consumer: string;
  readonly clientId: string;
  /** Messages of this kind, so far. */
  said<T extends { readonly event: string }>(event: T['event']): T[];
}

async function startProgram(
  name: 'processor' | 'web',
  { skewMs, ...options }: ProgramOptions,
): Promise<Program> {
  const skewed = ['--import', new URL('programs/skewed-clock.mjs', import.meta.url).href];
  const child = startChild(fileURLToPath(new URL(`programs/${name}.mjs`, import.meta.url)), {
    env: { CHAOS: JSON.stringify(options), ...(skewMs === undefined ? {} : { SKEW_MS: String(skewMs) }) },
    execArgv: skewMs === undefined ? [] : skewed,
  });
  try {
    const { consumer, clientId } = await child.until<Ready>(({ event }) => event === 'ready');
    return {
      child,
      consumer,
      clientId,
      said: <T extends { readonly event: string }>(event: T['event']) =>
        (child.messages as readonly T[]).filter((message) => message.event === event),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  } catch (error) {
    await child.kill();
    throw error;
  }
}
