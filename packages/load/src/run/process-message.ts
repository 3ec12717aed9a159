/** What a run and its child processes tell each other. */
import type { LoadErrorCode } from '../load-error.js';
import type { EncodedInterval } from '../statistics/interval.js';
import type { RunSpec } from './load-run.js';
import type { Share } from './share.js';

export type ToChild =
  | { readonly kind: 'prepare'; readonly spec: RunSpec; readonly share: Share }
  /** In milliseconds since 1970: the same moment in all processes. */
  | { readonly kind: 'start'; readonly atEpochMs: number }
  | { readonly kind: 'users'; readonly users: number; readonly spawnRate: number }
  | { readonly kind: 'stop' };

export type FromChild =
  | { readonly kind: 'ready'; readonly hasShape: boolean }
  | { readonly kind: 'refused'; readonly code: LoadErrorCode | undefined; readonly message: string }
  | { readonly kind: 'interval'; readonly interval: EncodedInterval }
  | { readonly kind: 'stopping'; readonly afterSeconds: number }
  | { readonly kind: 'ended' };
