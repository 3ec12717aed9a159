/** A proxy as those see it who started it. */
import type { BatcherStats } from 'batchwise';
import type { AdminAddress } from './admin-server.js';

export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
}

export interface BackendStats {
  readonly target: string;
  /** Whether batches are sent there as long as there is a choice. */
  readonly isUp: boolean;
  readonly isEjected: boolean;
  readonly isHealthy: boolean;
  readonly batchesInFlight: number;
  readonly openCalls: number;
  /** How many batches were answered whose durations its predictions rest on. */
  readonly batchesLearned: number;
}

export interface ProxyStats {
  readonly isDraining: boolean;
  readonly openCalls: number;
  readonly passedThrough: number;
  /** What the messages of calls take that are not answered yet. */
  readonly queuedBytes: number;
  readonly methods: Readonly<Record<string, BatcherStats>>;
  readonly backends: readonly BackendStats[];
}

export interface DrainOptions {
  /** How long accepted calls may take to end; then they are ended. @default the proxy's `drainTimeoutMs` */
  readonly timeoutMs?: number | undefined;
}

export interface RunningProxy {
  readonly address: ProxyAddress;
  /** Where metrics and health are; undefined when they are nowhere. */
  readonly adminAddress: AdminAddress | undefined;
  stats(): ProxyStats;
  /** Takes nothing more in and resolves when all that was accepted has been answered. Not ready from now on. */
  drain(options?: DrainOptions): Promise<void>;
  /** Drains, then closes everything. */
  close(options?: DrainOptions): Promise<void>;
  /** Ends everything now; who waits is told that the proxy is closing, or loses the connection. */
  destroy(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
