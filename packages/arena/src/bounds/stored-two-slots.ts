/** The optima for two slots that were worked out beforehand, in `fixtures/two-slots.json`. */
import { readFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { type Curve, capacity } from '../simulation/curve.js';
import type { Contender } from '../simulation/scenario.js';
import { type TwoSlotOptimum, type TwoSlotTable, twoSlotContender } from './two-slot-optimum.js';

export interface TwoSlotBound {
  readonly perMs: number;
  readonly meanMs: number;
  /** The optimum itself, to be run on the very arrivals that the others get. */
  readonly contender: Contender;
}

/** A cell of the fixture. */
export interface StoredTwoSlots {
  readonly curve: string;
  /** The load, as a share of what two slots can do. */
  readonly rho: number;
  /** All sizes' durations together, by which a curve that has changed since is told. */
  readonly durations_ms: number;
  readonly mean_ms: number;
  readonly step_ms: number;
  readonly longest_queue: number;
  /** Of the table: 16 bits each, the low ones first, Brotli, Base64. */
  readonly actions: string;
}

export const TWO_SLOTS_FILE = new URL('../../fixtures/two-slots.json', import.meta.url);

let cells: readonly StoredTwoSlots[] | undefined;

/** All that are stored. */
export function storedTwoSlots(): readonly StoredTwoSlots[] {
  cells ??= (JSON.parse(readFileSync(TWO_SLOTS_FILE, 'utf8')) as { cells: StoredTwoSlots[] }).cells;
  return cells;
}

/** The bound for a curve of the grid at one of the stored loads; undefined where none is stored. */
export function twoSlotBound(curve: Curve, rho: number): TwoSlotBound | undefined {
  const cell = storedTwoSlots().find((stored) => stored.curve === curve.name && stored.rho === rho);
  if (cell === undefined) return undefined;
  if (Math.abs(cell.durations_ms / durationsMs(curve) - 1) > 1e-9) {
    throw new Error(`Curve ${curve.name} is not what it was: run dist/bounds/store-two-slots.js again.`);
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
