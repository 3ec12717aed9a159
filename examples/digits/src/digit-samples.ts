/** Handwritten digits of 8 × 8 pixels, each with the answer that is expected of the model. */
import { readFile } from 'node:fs/promises';
import { SetupError } from './setup-error.js';

export interface DigitSample {
  readonly pixels: Float32Array;
  readonly label: number;
}

interface SampleFile {
  readonly samples: readonly { readonly input: readonly number[]; readonly label: number }[];
}

export async function readSamples(file: URL): Promise<DigitSample[]> {
  try {
    const { samples } = JSON.parse(await readFile(file, 'utf8')) as SampleFile;
    return samples.map(({ input, label }) => ({ pixels: Float32Array.from(input), label }));
  } catch (error) {
    throw new SetupError(
      `Cannot read models/digits.json: ${(error as Error).message}\n` +
        "It belongs to the repository: restore it with 'git checkout -- models'.",
      { cause: error },
    );
  }
}
