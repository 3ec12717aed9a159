/** What the requests of a run go to, as reports name it. */
import { basename } from 'node:path';
import type { RunSpec } from './load-run.js';

export function targetName({ work }: RunSpec): string {
  return work.kind === 'target' ? work.target.url : basename(work.file);
}
