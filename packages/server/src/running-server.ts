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
  /** Takes over what can change while it runs; the rest is logged as waiting for a restart. */
  reload(): void;
  /** Finishes what was accepted. False when something had to be cut off. */
  stop(): Promise<boolean>;
  /** Ends now. Resolves when all processes have ended. */
  kill(): Promise<void>;
}

/** Reads the configuration as it is now. With names, settings of other runners are refused. */
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
