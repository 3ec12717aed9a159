/** What a processor tells of itself. */
import type { BatcherStats } from 'batchwise';

/** Events of a processor. */
export type ProcessorNotice =
  | { readonly event: 'disconnected'; readonly error: Error }
  | { readonly event: 'connected' }
  | { readonly event: 'taken-over'; readonly items: number; readonly delivery: number }
  | { readonly event: 'died'; readonly items: number }
  | { readonly event: 'fenced'; readonly id: string }
  | { readonly event: 'failed'; readonly error: unknown }
  /**
   * Redis may evict accepted items: its maxmemory-policy has changed, or the processor is connected to another Redis.
   */
  | { readonly event: 'evicting'; readonly error: Error };

export interface ProcessorStats extends BatcherStats {
  readonly consumer: string;
  /** Items waiting in Redis at the last fetch. */
  readonly backlog: number;
  /** Items taken over from processors whose lease expired. */
  readonly takenOver: number;
  /** Results that were discarded because another processor had taken over the item. */
  readonly fenced: number;
  /** Items under a lease of this processor: fetched, and neither answered nor returned. */
  readonly held: number;
  /** No items are fetched until `resume()`. */
  readonly isPaused: boolean;
}
