/** The options of a call. Hot path: one pass over the keys that are given. */

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
  /** The deadline, from now. When it passes, the call is rejected with `DEADLINE_EXCEEDED` at once. */
  readonly timeoutMs?: number | undefined;
  /** Higher goes first; a whole number from -100 to 100, by default 0. Queued items age upwards. */
  readonly priority?: number | undefined;
  /** Tenants share the backend by weight. All items without a tenant count as one tenant. */
  readonly tenant?: string | undefined;
  /** Time that the item has waited before this call, for example on another machine. Its age includes it. */
  readonly waitedMs?: number | undefined;
  /** The tenant's share relative to other tenants, from this call on; 0.001 to 1,000,000, by default 1. */
  readonly weight?: number | undefined;
}

export interface SubmitOptions extends EnqueueOptions {
  /** Rejects the call with `CANCELLED` when it fires. One signal shared by many calls is cheaper than one for each. */
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
 * One object for all calls, because a new one would cost more than the parsing. It is written after all getters of the
 * caller have run, and read before other user code runs.
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
