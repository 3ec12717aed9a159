/** Runs one way of submitting items in a closed loop. */
import type { Metered, Timing } from './meter.js';
import { type PathName, runPath } from './paths.js';

export interface PathParams extends Timing {
  readonly path: PathName;
}

export function run({ path, ...timing }: PathParams): Promise<Metered> {
  return runPath(path, timing);
}
