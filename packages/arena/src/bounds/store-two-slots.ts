/**
 * Computes and stores the optima for two slots: `node packages/arena/dist/bounds/store-two-slots.js [curve …]`.
 * With names of curves, only these are computed. All of them take about ten minutes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { gridCurve } from '../grid/grid-curves.js';
import {
  pack,
  type StoredTwoSlots,
  storedTwoSlots,
  TWO_SLOTS_FILE,
  twoSlotPerMs,
} from './stored-two-slots.js';
import { twoSlotOptimum } from './two-slot-optimum.js';

const CURVES = ['a', 'b', 'c', 'd', 'concave', 'eights', 'resnet50'];
const LOADS = [0.3, 0.5, 0.7, 0.85, 0.95];

interface Cell {
  readonly curve: string;
  readonly rho: number;
}

if (isMainThread) await storeAll(process.argv.slice(2));
else parentPort?.postMessage(solve(workerData as Cell));

function solve({ curve: name, rho }: Cell): StoredTwoSlots {
  const curve = gridCurve(name);
  return pack(curve, rho, twoSlotOptimum(curve, twoSlotPerMs(curve, rho)));
}

async function storeAll(names: string[]): Promise<void> {
  const curves = names.length > 0 ? names : CURVES;
  const isKept = ({ curve }: Cell) => names.length > 0 && !names.includes(curve);
  const cells = (names.length > 0 ? [...storedTwoSlots()] : []).filter(isKept);
  const toDo = curves.flatMap((curve) => LOADS.map((rho) => ({ curve, rho })));
  // The longest first, so that all processors are busy until the end.
  toDo.sort((a, b) => work(b) - work(a));
  const total = toDo.length;
  let done = 0;
  const workOn = async () => {
    for (let cell = toDo.shift(); cell !== undefined; cell = toDo.shift()) {
      const startedAt = performance.now();
      const solved = await solveInWorker(cell);
      cells.push(solved);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const mean = solved.mean_ms.toFixed(4);
      console.log(`${++done}/${total} ${cell.curve} ${cell.rho}: ${mean} ms (in ${seconds} s)`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, workOn));
  cells.sort((a, b) => CURVES.indexOf(a.curve) - CURVES.indexOf(b.curve) || a.rho - b.rho);
  mkdirSync(new URL('.', TWO_SLOTS_FILE), { recursive: true });
  writeFileSync(TWO_SLOTS_FILE, `${JSON.stringify({ cells }, null, 2)}\n`);
}

function work({ curve, rho }: Cell): number {
  return gridCurve(curve).maxBatchSize ** 2 / (1 - rho);
}

function solveInWorker(cell: Cell): Promise<StoredTwoSlots> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: cell });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
