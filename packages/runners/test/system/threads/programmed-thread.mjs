/**
 * Uses the protocol of an OnnxModel thread without a model: doubles the first input, unless its first element is an
 * order to misbehave.
 */
import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const FAIL = -1;
const THROW = -2;
const EXIT = -3;
const HANG = -4;

const signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
};

// A file next to the model makes threads end as soon as they start.
if (existsSync(`${workerData.file}.dies`)) throw new Error('told to die at the start');

parentPort.on('message', ({ inputs }) => {
  const { data, shape } = inputs[0];
  if (data[0] === FAIL) {
    parentPort.postMessage({ kind: 'failure', message: 'told to fail' });
    return;
  }
  if (data[0] === THROW) throw new Error('told to throw');
  if (data[0] === EXIT) process.exit(3);
  while (data[0] === HANG);
  const doubled = data.map((value) => 2 * value);
  const outputs = [{ name: 'y', datatype: 'FP32', shape, data: doubled }];
  parentPort.postMessage({ kind: 'answer', outputs }, [doubled.buffer]);
});
parentPort.postMessage({ kind: 'ready', signature });
