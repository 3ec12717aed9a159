/** A backend on its own thread that takes 1 ms for a batch of any size, without processor time. */
import { parentPort } from 'node:worker_threads';

const SERVICE_MS = 1;
const never = new Int32Array(new SharedArrayBuffer(4));

parentPort?.on('message', () => {
  Atomics.wait(never, 0, 0, SERVICE_MS);
  parentPort?.postMessage(0);
});
