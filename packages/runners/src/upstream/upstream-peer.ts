/** One process elsewhere that batches can be sent to. What it is sent depends on what it speaks. */
export interface UpstreamPeer {
  /** Where it is, as the log may say it: scheme, host and path. Callers are not told. */
  readonly place: string;
  /** Resolves when it says that it is ready; rejects with why not. Not there when it cannot be asked that. */
  checkReady?(timeoutMs: number): Promise<void>;
  /** Told when its connection is there or lost, where one is kept: sooner than the next call would be. */
  onConnectionChange?(listener: (error: Error | undefined) => void): void;
  close(): Promise<void>;
}
