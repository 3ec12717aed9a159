/** What one source says of the proxy: flags, environment or file. */
import type { ConfigProblem, Origin } from '@batchwise/server';
import type { ProxyField } from './proxy-settings.js';

export interface Said {
  /** Checked. */
  readonly value: unknown;
  readonly origin: Origin;
}

export interface ProxySource {
  readonly said: ReadonlyMap<ProxyField, Said>;
  readonly problems: readonly ConfigProblem[];
}
