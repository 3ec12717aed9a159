import type { ResourceSettings } from '@batchwise/runners';

/**
 * The devices of one replica. Of those that its runner may see there is nothing else to be seen in its
 * process: they are counted from 0. Each replica begins with another one.
 */
export function ownDevices({ cpu, gpu }: ResourceSettings, replica: number): ResourceSettings {
  return { cpu, gpu: gpu.map((_, i) => (i + replica) % gpu.length) };
}
