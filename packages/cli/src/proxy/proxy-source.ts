/** The settings of one source: flags, environment or file. */
import type { ConfigProblem, Origin } from '@batchwise/server';
import type { ProxyField } from './proxy-settings.js';

export interface Given {
  /** Valid. */
  readonly value: unknown;
  readonly origin: Origin;
}

export interface ProxySource {
  readonly given: ReadonlyMap<ProxyField, Given>;
  readonly problems: readonly ConfigProblem[];
}
