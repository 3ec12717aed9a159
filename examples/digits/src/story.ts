/** Measures both ways of calling the model, one after the other, and says what came out. */
import { BatchSizes } from './batch-sizes.js';
import { keepAsking } from './callers.js';
import type { Settings } from './command-line.js';
import type { DigitSample } from './digit-samples.js';
import type { DigitsModel } from './digits-model.js';
import { LiveTable, type Output } from './live-table.js';
import { Meter } from './meter.js';
import { headingOf, rowOf } from './table-rows.js';
import { comparisonOf, correctnessOf } from './verdict.js';
import { type BatchSizeListener, oneByOne, throughBatcher, type WayToCall } from './ways-to-call.js';

const WARM_UP_MS = 500;
const REPAINT_MS = 150;

const READ_NEXT = `Read next:
  examples/digits/README.md   what to look at in the code of this example
  README.md                   the library and everything around it
  docs/                       guides and reference
`;

export interface Stage {
  readonly model: DigitsModel;
  readonly samples: readonly DigitSample[];
  readonly output: Output;
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export type Ending = 'all correct' | 'wrong answers' | 'interrupted';

export async function tellStory(settings: Settings, stage: Stage): Promise<Ending> {
  const { model, output, environment, signal } = stage;
  const { maxBatchSize } = settings;
  const table = new LiveTable(output, environment);
  output.write(introductionOf(settings));
  table.heading(headingOf(new BatchSizes(maxBatchSize)));

  const single = await measure('one by one', (onBatchSize) => oneByOne(model, onBatchSize));
  const batched = await measure('batcher', (onBatchSize) => throughBatcher(model, onBatchSize, maxBatchSize));

  if (signal.aborted) {
    output.write('\nInterrupted: nothing to compare.\n');
    return 'interrupted';
  }
  const { ok, text } = correctnessOf([single, batched]);
  output.write(`\n${comparisonOf(single, batched)}\n${text}\n\n${READ_NEXT}`);
  return ok ? 'all correct' : 'wrong answers';

  async function measure(name: string, open: (onBatchSize: BatchSizeListener) => WayToCall): Promise<Meter> {
    const startsAt = performance.now() + WARM_UP_MS;
    const meter = new Meter(startsAt, startsAt + 1000 * settings.seconds, maxBatchSize);
    const way = open((size) => meter.recordBatch(size, performance.now()));
    const repaint = setInterval(() => table.update(rowOf(name, meter, performance.now())), REPAINT_MS);
    try {
      await keepAsking(way, meter, { count: settings.callers, samples: stage.samples, signal });
    } finally {
      clearInterval(repaint);
      table.abandon();
      await way.close();
    }
    if (!signal.aborted) table.finish(rowOf(name, meter, meter.endsAt));
    return meter;
  }
}

function introductionOf({ callers, maxBatchSize }: Settings): string {
  return `
${callers} callers show handwritten digits to an ONNX model on a worker thread. Each waits for
its answer before it asks again. First every digit is a call of the model of its own,
then the same callers go through a batcher:

  new Batcher((digits) => model.classify(digits), { maxBatchSize: ${maxBatchSize} })

The bars count batches by size: 1, 2, up to 4, up to 8 and so on.

`;
}
