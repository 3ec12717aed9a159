import { expect, test } from 'vitest';
import { ownDevices } from '../src/own-devices.js';

test('the first replica begins with the first device that there is for the runner, and so on', () => {
  const devices = [0, 1, 2, 3].map((replica) => ownDevices({ cpu: 2, gpu: [4, 6, 7] }, replica).gpu);
  // Counted within CUDA_VISIBLE_DEVICES=4,6,7.
  expect(devices).toEqual([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 1, 2],
  ]);
});

test('a runner without devices has none, and keeps its threads', () => {
  expect(ownDevices({ cpu: 3, gpu: [] }, 5)).toEqual({ cpu: 3, gpu: [] });
});
