/**
 * Runs the unit tests with properties that go new ways each round, until one fails. Says how to see it again.
 *
 *   npm run fuzz -- [rounds] [files, as vitest takes them]
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';

const [rounds = '10', ...files] = process.argv.slice(2);
if (!/^[1-9]\d*$/.test(rounds)) {
  console.error(`npm run fuzz -- [rounds] [files]: expected a number of rounds, got "${rounds}".`);
  process.exit(2);
}
for (let round = 1; round <= Number(rounds); round++) {
  const seed = String(randomInt(2 ** 31));
  console.log(`Round ${round} of ${rounds}: PROPERTY_SEED=${seed}`);
  const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'unit', '--reporter=dot', ...files], {
    stdio: 'inherit',
    env: { ...process.env, PROPERTY_SEED: seed },
  });
  if (status !== 0) {
    console.error(`See it again: PROPERTY_SEED=${seed} npx vitest run --project unit ${files.join(' ')}`);
    process.exit(1);
  }
}
