import { DEFAULT_RUNNER_SETTINGS } from '@batchwise/runners';
import { expect, test } from 'vitest';
import { ownDevice, ownDevices, visibleDevices } from '../src/own-devices.js';

test('the first replica starts with the first device of the runner, the second with the second', () => {
  const devices = [0, 1, 2, 3].map((replica) => ownDevices({ cpu: 2, gpu: [4, 6, 7] }, replica).gpu);
  // Counted within CUDA_VISIBLE_DEVICES=4,6,7.
  expect(devices).toEqual([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 1, 2],
  ]);
});

test('a runner without devices keeps its threads', () => {
  expect(ownDevices({ cpu: 3, gpu: [] }, 5)).toEqual({ cpu: 3, gpu: [] });
});

test('each replica of a Python runner has one device, which its Python process sees', () => {
  const settings = { ...DEFAULT_RUNNER_SETTINGS, resources: { cpu: undefined, gpu: [1, 3] } };
  const onnx = { kind: 'onnx', path: 'a.onnx' } as const;
  const python = { kind: 'python', path: 'a.py', object: undefined } as const;
  expect(visibleDevices({ source: onnx, settings })).toEqual({ CUDA_VISIBLE_DEVICES: '1,3' });
  expect(visibleDevices({ source: python, settings })).toEqual({});
  expect([0, 1, 2].map((replica) => ownDevice({ cpu: 2, gpu: [1, 3] }, replica).gpu)).toEqual([
    [1],
    [3],
    [1],
  ]);
  expect(ownDevice({ cpu: 2, gpu: [] }, 1).gpu).toEqual([]);
  expect(visibleDevices({ source: onnx, settings: DEFAULT_RUNNER_SETTINGS })).toEqual({});
});
