/** What a processor tells of itself. */
import type { BatcherStats } from 'batchwise';

/** What a processor has to tell besides its answers. */
export type ProcessorNotice =
  | { readonly event: 'disconnected'; readonly error: Error }
  | { readonly event: 'connected' }
  | { readonly event: 'taken-over'; readonly items: number; readonly delivery: number }
  | { readonly event: 'died'; readonly items: number }
  | { readonly event: 'fenced'; readonly id: string }
  | { readonly event: 'failed'; readonly error: unknown }
  /** The maxmemory-policy of Redis was changed, or another Redis was connected to: accepted items may be deleted. */
  | { readonly event: 'evicting'; readonly error: Error };

export interface ProcessorStats extends BatcherStats {
  readonly consumer: string;
  /** How many wait in Redis, as of the last fetch. */
  readonly backlog: number;
  /** Items that it took over from processors that had fallen silent. */
  readonly takenOver: number;
  /** Answers that came too late: the item had been taken over. */
  readonly fenced: number;
  /** Items under a lease of its own: fetched, and not answered or given back. */
  readonly held: number;
  /** It takes nothing until `resume()`. */
  readonly isPaused: boolean;
}
