/** The GPUs of a runner process. */
import type { ResourceSettings } from '@batchwise/runners';
import type { PlannedRunner } from './planned-runner.js';

/** Of the runner process. A Python model sets the variable for its Python process itself. */
export function visibleDevices({
  source,
  settings,
}: Pick<PlannedRunner, 'source' | 'settings'>): Record<string, string> {
  const { gpu } = settings.resources;
  if (source.kind === 'python' || gpu.length === 0) return {};
  return { CUDA_VISIBLE_DEVICES: gpu.join() };
}

/** The device of one replica of a Python model. */
export function ownDevice({ cpu, gpu }: ResourceSettings, replica: number): ResourceSettings {
  return { cpu, gpu: gpu.slice(replica % gpu.length, (replica % gpu.length) + 1) };
}

/**
 * The devices of one replica. The process sees only the devices of its runner, numbered from 0. Each replica starts
 * with another device.
 */
export function ownDevices({ cpu, gpu }: ResourceSettings, replica: number): ResourceSettings {
  return { cpu, gpu: gpu.map((_, i) => (i + replica) % gpu.length) };
}
