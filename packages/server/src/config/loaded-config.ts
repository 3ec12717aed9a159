import type { ServerSettings } from './server-settings.js';
import type { Origin } from './setting-origin.js';

/** A configuration that is as it should be, and where each part of it is from. */
export interface LoadedConfig {
  readonly settings: ServerSettings;
  /** By path, `runners.iris.batching.max_batch_size`: of every setting of the server and of all runners, and of what is set for one. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Where in the file the names of runners stand that it has settings for. */
  readonly runnerNames: ReadonlyMap<string, Origin>;
  /** As it was named; undefined when there is none. */
  readonly file: string | undefined;
}
