/** A process that sends with `startRun`, and prints the report. Each response is parsed and checked. */
import { startRun, type Traffic } from '@batchwise/load';
import { runSpec } from './run-spec.js';

export interface BatchwiseLoad {
  readonly url: string;
  readonly traffic: Traffic;
  readonly seconds: number;
}

const run = await startRun(runSpec(JSON.parse(process.argv[2] as string) as BatchwiseLoad));
process.stdout.write(JSON.stringify(await run.ended));
