import type { ServerSettings } from './server-settings.js';
import type { Origin } from './setting-origin.js';

/** A valid configuration, with the origin of each value. */
export interface LoadedConfig {
  readonly settings: ServerSettings;
  /**
   * By path, such as `runners.iris.batching.max_batch_size`: all settings of the server and of all runners, and the
   * given settings of single runners.
   */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The positions of the names of runners in the file. */
  readonly runnerNames: ReadonlyMap<string, Origin>;
  /** The name of the file as given; undefined without a file. */
  readonly file: string | undefined;
}
