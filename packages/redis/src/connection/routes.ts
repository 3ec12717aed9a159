import type { Line } from './line.js';
import type { Address } from './node-connection.js';

/** Which connection a key's commands go over. */
export interface Routes {
  /** All that are in use are up. */
  readonly isUp: boolean;
  lineFor(key: string): Line;
  /** The slot of the key is at that node now. */
  moved(key: string, to: Address): void;
  destroy(): void;
}
