/** `npm run bench:load`: measures the chosen figures and prints them. */
import { runFigures } from '@batchwise/bench-harness';
import { figures } from './figures.js';
import { LOCUST, NGINX, WRK } from './program.js';

await runFigures({
  about: 'The load generator, measured beside autocannon, Locust and wrk.',
  script: 'bench:load',
  figures,
  rounds: 5,
  seconds: 5,
  // V8 still compiles during the first seconds, and Locust still imports.
  warmupMs: 3000,
  notes: `Programs
  nginx       needed: ${NGINX.install}
  wrk         its rows are left out without it: ${WRK.install}
  locust      its rows are left out without it:
              ${LOCUST.install}`,
});
