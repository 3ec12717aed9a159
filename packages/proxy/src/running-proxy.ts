/** The public interface of a running proxy. */
import type { BatcherStats } from 'batchwise';
import type { AdminAddress } from './admin/admin-server.js';

export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
}

export interface BackendStats {
  readonly target: string;
  /** Connected, healthy and not ejected. While no backend is up, batches go to the others. */
  readonly isUp: boolean;
  readonly isEjected: boolean;
  readonly isHealthy: boolean;
  readonly batchesInFlight: number;
  readonly openCalls: number;
  /** The number of batches from which its service times were learned. */
  readonly batchesLearned: number;
}

export interface ProxyStats {
  readonly isDraining: boolean;
  readonly openCalls: number;
  readonly passedThrough: number;
  /** Memory of the messages of unanswered calls, and of unread answers. */
  readonly queuedBytes: number;
  readonly methods: Readonly<Record<string, BatcherStats>>;
  readonly backends: readonly BackendStats[];
}

export interface DrainOptions {
  /** After this time, open calls fail. @default `drainTimeoutMs` of the proxy */
  readonly timeoutMs?: number | undefined;
}

export interface RunningProxy {
  readonly address: ProxyAddress;
  /** The address of metrics and health over HTTP, if enabled. */
  readonly adminAddress: AdminAddress | undefined;
  stats(): ProxyStats;
  /** Rejects new calls and resolves when all accepted calls are answered. The proxy is not ready from now on. */
  drain(options?: DrainOptions): Promise<void>;
  /** Drains, then closes everything. */
  close(options?: DrainOptions): Promise<void>;
  /** Closes at once. Open calls fail with UNAVAILABLE or lose their connection. */
  destroy(): void;
  [Symbol.asyncDispose](): Promise<void>;
}
