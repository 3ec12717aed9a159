/** `--probe`: measures a model or the handler of a module, prints the measurement, and saves the curve. */
import { basename } from 'node:path';
import { type Probe, probe, probedCurve, probeJson } from '@batchwise/arena';
import { BatchwiseError } from 'batchwise';
import { Failure, messageOf } from '../terminal/failure.js';
import { writeNamedFile } from '../terminal/files.js';
import type { ProgressBar } from '../terminal/progress-bar.js';
import type { Terminal } from '../terminal/terminal.js';
import { textTable } from '../terminal/text-table.js';
import type { CurveInput } from './curve-input.js';
import { loadProbeTarget } from './probe-target.js';

export interface ProbeFlags {
  readonly probe: string;
  readonly targetLatencyMs: number;
  readonly maxBatchSize?: number;
  readonly probeSeconds: number;
  readonly saveCurve?: string;
}

const DEFAULT_MAX_BATCH_SIZE = 64;
/** Above this noise the measurement is unreliable. */
const NOISY = 0.3;
/** Batches above this multiple of the target are not measured. */
const USEFUL_TARGETS = 2;

export async function probeModule(
  flags: ProbeFlags,
  terminal: Terminal,
  progress: ProgressBar,
  note: (text: string) => void,
): Promise<CurveInput> {
  const { probe: path, saveCurve, targetLatencyMs } = flags;
  const probed = await measured(flags, progress, note);
  progress.clear();
  terminal.stderr.write(tableOf(probed, path));
  if (probed.leftOutFrom !== undefined)
    note(
      `batches of ${probed.leftOutFrom} and more were not measured: they take much longer than ${targetLatencyMs} ms.`,
    );
  if (probed.noise > NOISY)
    note('the durations vary a lot. Measure again on an idle machine, or with a longer --probe-seconds.');
  if (saveCurve !== undefined)
    await writeNamedFile('--save-curve', saveCurve, `${JSON.stringify(probeJson(probed), null, 2)}\n`);
  return { curve: probedCurve(basename(path), probed), noise: probed.noise };
}

async function measured(
  flags: ProbeFlags,
  progress: ProgressBar,
  note: (text: string) => void,
): Promise<Probe> {
  const { probe: path, maxBatchSize = DEFAULT_MAX_BATCH_SIZE, probeSeconds, targetLatencyMs } = flags;
  progress.show({ doing: `loading ${path}`, share: 0 });
  const target = await loadProbeTarget('--probe', path, maxBatchSize);
  for (const text of target.notes) note(text);
  try {
    return await probe({
      handler: target.handler,
      makeItem: target.makeItem,
      maxBatchSize: target.maxBatchSize ?? maxBatchSize,
      timeLimitMs: 1000 * probeSeconds,
      longestMs: USEFUL_TARGETS * targetLatencyMs,
      onProgress: (step) => progress.show(step),
    });
  } catch (error) {
    const cause = error instanceof BatchwiseError && error.cause !== undefined ? error.cause : error;
    // Without the name of the batcher, which the user does not know.
    const message = messageOf(cause).replace(/^batchwise probe: /, '');
    throw new Failure(`--probe: ${path} failed: ${message}`, { cause: error });
  } finally {
    await target.close();
  }
}

function tableOf({ points, rounds, noise, tookMs }: Probe, path: string): string {
  const lines = textTable(
    ['batch', 'p50', 'p10 – p90', 'per item'].map((title) => ({ title, align: 'right' as const })),
    points.map(({ size, p10Ms, p50Ms, p90Ms }) => [
      `${size}`,
      ms(p50Ms),
      `${ms(p10Ms)} – ${ms(p90Ms)}`,
      ms(p50Ms / size),
    ]),
  );
  const head = `Measured ${path}: ${rounds} rounds in ${(tookMs / 1000).toFixed(1)} s, noise ${(100 * noise).toFixed(1)} %`;
  return `${[head, ...lines.map((line) => `  ${line}`)].join('\n')}\n\n`;
}

function ms(value: number): string {
  return `${value.toPrecision(3)} ms`;
}
