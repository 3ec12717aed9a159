/**
 * The example in one command: Redis, four web processes, a worker and callers; first with a window of 2 s, then without.
 *
 *     npm run items [-- seconds of each run]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [, , seconds = '5'] = process.argv;
const BATCHWISE = 'packages/cli/bin/batchwise.js';
const WINDOW = { DYNAMIC_BATCHER__BATCH_SIZE: '64', DYNAMIC_BATCHER__BATCH_TIME: '2' };

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill();
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const redis = await startRedis();
const web = await start(
  ['serve', '-c', 'examples/items/batchwise.yaml', '--port', '0'],
  redis.env,
  /http:\S+/,
);
for (const [title, settings] of [
  ['With a window of 2 s', WINDOW],
  ['Adaptive', {}],
]) {
  console.log(`${title}:`);
  const worker = await start(
    ['worker', 'examples/items/service.ts#items', '--queue', 'items'],
    { ...redis.env, ...Object(settings) },
    /^Processes the queue/,
  );
  for (const callers of ['1', '100']) {
    const load = run(process.execPath, [
      'examples/items/load.js',
      callers,
      seconds,
      `${web.match}/items/test/1`,
    ]);
    load.stdout.pipe(process.stdout);
    const [code] = await once(load, 'close');
    if (code !== 0) process.exit(1);
  }
  await worker.stop();
}
await web.stop();
await redis.stop();

/** The Redis that the variables name, or one for this run. */
async function startRedis() {
  if (Object.keys(process.env).some((name) => name.startsWith('REDIS__'))) {
    return { env: {}, stop: async () => {} };
  }
  const scripts = new URL('../../scripts/', import.meta.url);
  const { findProgram, provideProgram, testPrograms } = await import(`${scripts}test-programs.js`);
  const { freePorts } = await import(`${scripts}services/guarded-process.js`);
  provideProgram('redisServer');
  const [port] = await freePorts(1);
  const child = run(findProgram(testPrograms.redisServer), [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
  ]);
  await lineOf(child, /Ready to accept connections/);
  return { env: { REDIS__HOST: '127.0.0.1', REDIS__PORT: String(port) }, stop: () => stop(child) };
}

/**
 * Resolves when `batchwise` prints the line.
 *
 * @param {readonly string[]} args
 * @param {Readonly<Record<string, string>>} env
 * @param {RegExp} line
 */
async function start(args, env, line) {
  const child = run(process.execPath, [BATCHWISE, ...args], env);
  return { match: await lineOf(child, line), stop: () => stop(child) };
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Readonly<Record<string, string>>} env
 */
function run(command, args, env = {}) {
  const child = spawn(command, args, {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * The first line that matches, on either output.
 *
 * @param {ReturnType<typeof run>} child
 * @param {RegExp} pattern
 * @returns {Promise<string>}
 */
function lineOf(child, pattern) {
  return new Promise((resolve, reject) => {
    let output = '';
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        output += `\n${line}`;
        const [found] = pattern.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
    child.once('close', (code) =>
      reject(new Error(`${child.spawnargs.join(' ')} ended with ${code}.${output}`)),
    );
  });
}

/** @param {ReturnType<typeof run>} child */
async function stop(child) {
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}
