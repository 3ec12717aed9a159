/** What a Batchwise server says of the batch that a request was in, read from raw headers. */

const BATCH_SIZE = 'batchwise-batch-size';
const QUEUE_MS = 'batchwise-queue-ms';
const COMPUTE_MS = 'batchwise-compute-ms';
const B = 'b'.charCodeAt(0);
const LOWER_CASE = 0x20;

export class BatchFigures {
  batchSize: number | undefined;
  queueMs: number | undefined;
  computeMs: number | undefined;

  /** Header names are looked at by length and first letter first: no string is made of other headers. */
  static ofRaw(headers: readonly Buffer[]): BatchFigures | undefined {
    let figures: BatchFigures | undefined;
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i] as Buffer;
      if (name.length !== BATCH_SIZE.length && name.length !== QUEUE_MS.length) continue;
      if (((name[0] as number) | LOWER_CASE) !== B) continue;
      figures = figureOf(name.toString('latin1').toLowerCase(), headers[i + 1] as Buffer, figures);
    }
    return figures;
  }

  /** Of a response whose headers are a record with names in lower case. */
  static ofRecord(headers: Readonly<Record<string, unknown>>): BatchFigures | undefined {
    let figures: BatchFigures | undefined;
    for (const name of [BATCH_SIZE, QUEUE_MS, COMPUTE_MS]) {
      const value = headers[name];
      if (typeof value === 'string') figures = figureOf(name, value, figures);
    }
    return figures;
  }
}

function figureOf(
  name: string,
  value: Buffer | string,
  known: BatchFigures | undefined,
): BatchFigures | undefined {
  if (name !== BATCH_SIZE && name !== QUEUE_MS && name !== COMPUTE_MS) return known;
  const text = typeof value === 'string' ? value : value.toString('latin1');
  const figure = text === '' ? Number.NaN : Number(text);
  if (!Number.isFinite(figure) || figure < 0) return known;
  const figures = known ?? new BatchFigures();
  if (name === BATCH_SIZE) figures.batchSize = figure;
  else if (name === QUEUE_MS) figures.queueMs = figure;
  else figures.computeMs = figure;
  return figures;
}
