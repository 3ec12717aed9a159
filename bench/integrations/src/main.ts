/** `npm run bench:integrations`: measures the chosen figures and prints them. */
import { runFigures } from '@batchwise/bench-harness';
import { figures } from './figures.js';

await runFigures({
  about: 'The ready-made batchers, beside one call per item on the same service.',
  script: 'bench:integrations',
  figures,
  rounds: 5,
  seconds: 3,
});
