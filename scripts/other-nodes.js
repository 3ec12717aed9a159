/**
 * Runs the unit tests and one system test of each kind with other versions of Node, those of test/consumers:
 * `npm run test:nodes`, or `npm run test:nodes -- 22` for one of them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

/** The example with its ONNX models, a worker on Redis, the proxy. */
const SYSTEM_TESTS = ['serve-start', 'worker.test', 'proxy.test'].map(
  (name) => `packages/cli/test/system/${name}`,
);

/** Without the simulations of the arena: half of the time, for computations that use nothing of Node. */
const UNIT_TESTS = ['packages', 'packages/integrations'].flatMap((group) =>
  readdirSync(join(root, group), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['arena', 'integrations'].includes(entry.name))
    .map(({ name }) => `${group}/${name}/`),
);

const [only] = process.argv.slice(2);
for (const version of ['22', '24'].filter((one) => only === undefined || one === only)) {
  const node = join(root, `test/consumers/node_modules/node${version}/bin/node`);
  if (!existsSync(node)) {
    // The binaries are for Linux on x64; on other machines, a version manager has them.
    console.log(`Node ${version} is not installed for this platform: skipped.`);
    continue;
  }
  console.log(`Node ${version}`);
  for (const args of [
    ['--project', 'unit', ...UNIT_TESTS],
    ['--project', 'system', ...SYSTEM_TESTS],
  ]) {
    const { status } = spawnSync(node, [vitest, 'run', '--reporter', 'dot', ...args], {
      cwd: root,
      stdio: 'inherit',
      // Programs that the tests start by name are of the same version.
      env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` },
    });
    if (status !== 0) process.exitCode = 1;
  }
}
