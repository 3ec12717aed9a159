/** `npm run digits`: the digits model, called one by one and through a batcher. */
import { HELP, readCommandLine } from './command-line.js';
import { readSamples } from './digit-samples.js';
import { DigitsModel } from './digits-model.js';
import { SetupError } from './setup-error.js';
import { type Ending, tellStory } from './story.js';

const MODELS = new URL('../../../models/', import.meta.url);
const EXIT_CODES: Record<Ending, number> = { 'all correct': 0, 'wrong answers': 1, interrupted: 130 };

const interruption = new AbortController();
// Once: who presses Ctrl-C again wants it to end without ceremony.
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());
// The reader of a pipe has seen enough: `npm run digits | head`.
process.stdout.on('error', () => interruption.abort());

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof SetupError ? error.message : error);
  process.exitCode = 1;
}

async function main(args: readonly string[]): Promise<number> {
  const settings = readCommandLine(args);
  if (settings.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const samples = await readSamples(new URL('digits.json', MODELS));
  const model = await DigitsModel.load(new URL('digits.onnx', MODELS));
  try {
    const { stdout: output, env: environment } = process;
    const ending = await tellStory(settings, {
      model,
      samples,
      output,
      environment,
      signal: interruption.signal,
    });
    return EXIT_CODES[ending];
  } finally {
    await model.close();
  }
}
