/** The stored optima for two slots, `fixtures/two-slots.json`. */
import { readFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { type Curve, capacity } from '../simulation/curve.js';
import type { Contender } from '../simulation/scenario.js';
import { type TwoSlotOptimum, type TwoSlotTable, twoSlotContender } from './two-slot-optimum.js';

export interface TwoSlotBound {
  readonly perMs: number;
  readonly meanMs: number;
  /** The optimal policy, for the same arrivals as the other contenders. */
  readonly contender: Contender;
}

/** A cell of the fixture. */
export interface StoredTwoSlots {
  readonly curve: string;
  /** The load, as a share of the maximum throughput of two slots. */
  readonly rho: number;
  /** Sum of the durations of all sizes: detects that the curve has changed. */
  readonly durations_ms: number;
  readonly mean_ms: number;
  readonly step_ms: number;
  readonly longest_queue: number;
  /** The table: 16-bit little-endian integers, Brotli, Base64. */
  readonly actions: string;
}

export const TWO_SLOTS_FILE = new URL('../../fixtures/two-slots.json', import.meta.url);

let cells: readonly StoredTwoSlots[] | undefined;

export function storedTwoSlots(): readonly StoredTwoSlots[] {
  cells ??= (JSON.parse(readFileSync(TWO_SLOTS_FILE, 'utf8')) as { cells: StoredTwoSlots[] }).cells;
  return cells;
}

/** The stored bound of a curve at a load; undefined where none is stored. */
export function twoSlotBound(curve: Curve, rho: number): TwoSlotBound | undefined {
  const cell = storedTwoSlots().find((stored) => stored.curve === curve.name && stored.rho === rho);
  if (cell === undefined) return undefined;
  if (Math.abs(cell.durations_ms / durationsMs(curve) - 1) > 1e-9) {
    throw new Error(`Curve ${curve.name} has changed: run dist/bounds/store-two-slots.js again.`);
  }
  return {
    perMs: twoSlotPerMs(curve, rho),
    meanMs: cell.mean_ms,
    contender: twoSlotContender(curve, unpack(cell)),
  };
}

export function twoSlotPerMs(curve: Curve, rho: number): number {
  return 2 * rho * capacity(curve).perMs;
}

export function pack(curve: Curve, rho: number, { meanMs, table }: TwoSlotOptimum): StoredTwoSlots {
  const bytes = Buffer.alloc(2 * table.actions.length);
  table.actions.forEach((action, i) => {
    bytes.writeUInt16LE(action, 2 * i);
  });
  return {
    curve: curve.name,
    rho,
    durations_ms: durationsMs(curve),
    mean_ms: meanMs,
    step_ms: table.stepMs,
    longest_queue: table.limit,
    actions: brotliCompressSync(bytes).toString('base64'),
  };
}

function unpack(cell: StoredTwoSlots): TwoSlotTable {
  const bytes = brotliDecompressSync(Buffer.from(cell.actions, 'base64'));
  const actions = Uint16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readUInt16LE(2 * i));
  return { stepMs: cell.step_ms, limit: cell.longest_queue, actions };
}

function durationsMs(curve: Curve): number {
  let sum = 0;
  for (let size = 1; size <= curve.maxBatchSize; size++) sum += curve.durationMs(size);
  return sum;
}
