/** The interface of a running server. */
import type { LoadedConfig } from './config/loaded-config.js';
import type { ServerSettings } from './config/server-settings.js';
import type { PlannedRunner } from './planned-runner.js';
import type { Service } from './service/service.js';
import type { WebAddress } from './web-server.js';

export interface RunningServer {
  readonly address: WebAddress;
  /** All runners, by name. */
  readonly runners: readonly string[];
  /** Applies changed settings that can change at run time, and logs those that need a restart. */
  reload(): void;
  /** Completes accepted requests. False if some had to be aborted. */
  stop(): Promise<boolean>;
  /** Ends now. Resolves when all processes have ended. */
  kill(): Promise<void>;
}

/** Reads the current configuration. With names, settings of other runners are rejected. */
export type LoadSettings = (runnerNames?: readonly string[]) => LoadedConfig;

export interface StartOptions {
  readonly settings: ServerSettings;
  readonly planned: readonly PlannedRunner[];
  readonly load: LoadSettings;
  readonly service: Service | undefined;
  readonly log: (line: string) => void;
  /** Ends a server that is starting. */
  readonly signal?: AbortSignal | undefined;
}
