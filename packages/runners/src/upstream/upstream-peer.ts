/** One remote process that batches can be sent to, over any protocol. */
export interface UpstreamPeer {
  /** The address for the log: scheme, host and path. Callers do not see it. */
  readonly place: string;
  /**
   * Resolves when the peer is ready, rejects with the reason otherwise. Absent if the protocol has no readiness
   * check.
   */
  checkReady?(timeoutMs: number): Promise<void>;
  /** Calls the listener when a persistent connection is established or lost, before the next call would detect it. */
  onConnectionChange?(listener: (error: Error | undefined) => void): void;
  close(): Promise<void>;
}
