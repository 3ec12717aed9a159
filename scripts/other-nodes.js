/**
 * Runs the unit tests and one system test of each kind with other versions of Node, those of test/consumers:
 * `npm run test:nodes`, or `npm run test:nodes -- 22` for one of them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

/** The start of the example, web processes, an ONNX model on threads, a worker on Redis, the proxy, the package. */
const SYSTEM_TESTS = [
  'packages/cli/test/system/serve-start',
  'packages/cli/test/system/serve-workers',
  'packages/cli/test/system/worker.test',
  'packages/cli/test/system/proxy.test',
  'packages/runners/test/system/onnx-model',
  'test/system/packaging',
];

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
    ['--project', 'unit'],
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
