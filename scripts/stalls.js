/**
 * Runs the unit and system tests while the event loops of all Node processes stall at random: a test that passes
 * only on a fast machine fails here. The exact moments differ from run to run; the seed repeats their pattern.
 *
 *   npm run stalls -- [files and options, as vitest takes them]
 *   STALL_SEED=7 npm run stalls -- packages/proxy/test/system/drain
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const { STALL_SEED: seed = String(randomInt(2 ** 31)), NODE_OPTIONS = '' } = process.env;
const preload = new URL('./stall-event-loop.js', import.meta.url).href;
console.log(`STALL_SEED=${seed}`);
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--project', 'unit', '--project', 'system', ...process.argv.slice(2)],
  {
    stdio: 'inherit',
    env: { ...process.env, STALL_SEED: seed, NODE_OPTIONS: `${NODE_OPTIONS} --import=${preload}` },
  },
);
console.log(`STALL_SEED=${seed}`);
process.exit(status ?? 1);
