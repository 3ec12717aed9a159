/** The options of a single call. Read on the hot path: one pass over the keys that are there. */

import { describe } from '../errors/describe.js';
import {
  invalidOption,
  unknownKey,
  validMs,
  validPriority,
  validSignal,
  validString,
  validWaitedMs,
  validWeight,
} from '../errors/valid.js';
import { isNativeSignal } from '../queue/abort-watch.js';

export interface EnqueueOptions {
  /** The caller's deadline, from now; when it passes, the caller gets `DEADLINE_EXCEEDED` at once. */
  readonly timeoutMs?: number | undefined;
  /** Higher goes first; a whole number from -100 to 100, 0 unless given. What waits, ages upwards. */
  readonly priority?: number | undefined;
  /** Tenants share the backend by weight. Items that name none count as one tenant together. */
  readonly tenant?: string | undefined;
  /** How long it has waited already, before it came here: on another machine, say. Its age counts from there. */
  readonly waitedMs?: number | undefined;
  /** The tenant's share relative to the others, from this call on; 0.001 to 1,000,000, 1 unless given. */
  readonly weight?: number | undefined;
}

export interface SubmitOptions extends EnqueueOptions {
  /** Releases the caller with `CANCELLED` when it fires. Share one signal among calls where you can. */
  readonly signal?: AbortSignal | undefined;
}

export interface CallSettings {
  timeoutMs: number | undefined;
  priority: number;
  tenant: string | undefined;
  weight: number | undefined;
  waitedMs: number;
  signal: AbortSignal | undefined;
}

const KNOWN = ['signal', 'timeoutMs', 'priority', 'tenant', 'weight', 'waitedMs'];

/**
 * One for all calls, written and read before anybody else's code runs: an object a call would cost more
 * than the reading. What a caller's getters do is done by then.
 */
const settings: CallSettings = {
  timeoutMs: undefined,
  priority: 0,
  tenant: undefined,
  weight: undefined,
  waitedMs: 0,
  signal: undefined,
};

export function callSettings(options: SubmitOptions | undefined): Readonly<CallSettings> {
  let timeoutMs: number | undefined;
  let priority = 0;
  let tenant: string | undefined;
  let weight: number | undefined;
  let waitedMs = 0;
  let signal: AbortSignal | undefined;
  if (options !== undefined) {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      throw invalidOption(`options of a call: expected an object, got ${describe(options)}.`);
    }
    for (const key in options) {
      const value: unknown = options[key as keyof SubmitOptions];
      switch (key) {
        case 'signal':
          if (value !== undefined) signal = isNativeSignal(value) ? value : validSignal(key, value);
          break;
        case 'timeoutMs':
          if (value !== undefined) timeoutMs = validMs(key, value);
          break;
        case 'priority':
          if (value !== undefined) priority = validPriority(key, value);
          break;
        case 'tenant':
          if (value !== undefined) tenant = validString(key, value);
          break;
        case 'weight':
          if (value !== undefined) weight = validWeight(key, value);
          break;
        case 'waitedMs':
          if (value !== undefined) waitedMs = validWaitedMs(key, value);
          break;
        default:
          throw unknownKey('options of a call', key, KNOWN);
      }
    }
  }
  settings.timeoutMs = timeoutMs;
  settings.priority = priority;
  settings.tenant = tenant;
  settings.weight = weight;
  settings.waitedMs = waitedMs;
  settings.signal = signal;
  return settings;
}
