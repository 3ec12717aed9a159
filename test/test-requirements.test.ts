/** `scripts/test-requirements.js` on machines that have, lack or can get what the tests need. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../scripts/test-programs.js';

const script = fileURLToPath(new URL('../scripts/test-requirements.js', import.meta.url));

/** All that is on the PATH of the machine under test: every program but Chromium, to begin with. */
let bin: string;

beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'batchwise-bin-'));
  const { chromium, ...others } = testPrograms;
  for (const { commands } of Object.values<typeof chromium>(others)) put(commands[0] ?? '');
});

afterEach(() => rmSync(bin, { recursive: true }));

test.each(['chromium', 'chromium-browser', 'google-chrome'])(
  'with %s on PATH it has nothing to say',
  (name) => {
    put(name);
    expect(run()).toEqual({ status: 0, stdout: '', stderr: '' });
  },
);

test('CHROMIUM_PATH is as good as a place on PATH', () => {
  put('my-browser');
  expect(run({ CHROMIUM_PATH: join(bin, 'my-browser') })).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('without apt-get it says what to install or to set, and fails', () => {
  const { status, stdout, stderr } = run({ CHROMIUM_PATH: join(bin, 'not-there') });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^The tests need Chromium.*apt-get install chromium.*set CHROMIUM_PATH.*\n$/);
});

test('of named programs only those are looked for', () => {
  rmSync(join(bin, 'redis-server'));
  const { status, stderr } = run({}, ['redisServer']);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^The example needs redis-server, and none .*\n$/);
  expect(run({}, ['redisCli'])).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('with apt-get it installs the package, without questions, and says so in one line', () => {
  putAptGet(`case "$*" in *install*) cp ${join(bin, 'apt-get')} ${join(bin, 'chromium')};; esac`);
  const { status, stdout, stderr } = run();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^The tests need Chromium: installing chromium with apt-get.*\n$/);
  const calls = readFileSync(join(bin, 'calls'), 'utf8').trimEnd().split('\n');
  expect(calls).toEqual([
    expect.stringMatching(/^noninteractive .* update$/),
    expect.stringMatching(/^noninteractive .* install --yes --no-install-recommends chromium$/),
  ]);
});

test('a program whose package is too much to install is taken out of it', () => {
  put('chromium');
  rmSync(join(bin, 'promtool'));
  putAptGet('case "$*" in *download*) echo > prometheus_2.deb;; esac');
  put(
    'dpkg-deb',
    'PATH=/usr/bin:/bin; test -f "$2" && mkdir -p "$3/usr/bin" && echo "#!/bin/sh" > "$3/usr/bin/promtool" && chmod +x "$3/usr/bin/promtool"',
  );
  const folder = join(bin, 'unpacked');
  const { status, stdout, stderr } = run({ TEST_PROGRAMS_FOLDER: folder });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^The tests need promtool: unpacking prometheus with apt-get.*\n$/);
  expect(readdirSync(folder)).toEqual(['promtool']);
  expect(readFileSync(join(bin, 'calls'), 'utf8')).not.toMatch('install');

  rmSync(join(bin, 'apt-get'));
  expect(run({ TEST_PROGRAMS_FOLDER: folder })).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(run({ TEST_PROGRAMS_FOLDER: join(bin, 'empty') }).status).toBe(1);
});

test('RabbitMQ is unpacked with Erlang, whose packages bring services', () => {
  put('chromium');
  rmSync(join(bin, 'rabbitmq-server'));
  putAptGet('case "$*" in *download*) echo > rabbitmq-server_3.deb; echo > erlang-base_25.deb;; esac');
  const unpack = (archive: string, path: string) =>
    `${archive}) mkdir -p "$3/$(dirname ${path})"; echo "#!/bin/sh" > "$3/${path}"; chmod +x "$3/${path}";;`;
  put(
    'dpkg-deb',
    `PATH=/usr/bin:/bin; case "$2" in ${[
      unpack('rabbitmq-server_3.deb', 'usr/lib/rabbitmq/bin/rabbitmq-server'),
      unpack('erlang-base_25.deb', 'usr/lib/erlang/bin/erl'),
    ].join(' ')} esac`,
  );
  const folder = join(bin, 'unpacked');
  const { status, stdout, stderr } = run({ TEST_PROGRAMS_FOLDER: folder });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(
    /^The tests need RabbitMQ: unpacking rabbitmq-server erlang-base .* with apt-get.*\n$/,
  );
  expect(readdirSync(folder)).toEqual(['rabbitmq-server']);
  expect(readdirSync(join(folder, 'rabbitmq-server/usr/lib'))).toEqual(['erlang', 'rabbitmq']);
  const calls = readFileSync(join(bin, 'calls'), 'utf8');
  expect(calls).toMatch(/ download rabbitmq-server erlang-base /);
  expect(calls).not.toMatch('install');

  rmSync(join(bin, 'apt-get'));
  expect(run({ TEST_PROGRAMS_FOLDER: folder })).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('a program that is not on PATH is found in the folder of its newest version', () => {
  for (const version of ['9', '15', '16']) {
    mkdirSync(join(bin, 'versions', version, 'bin'), { recursive: true });
    if (version !== '16') put(join('versions', version, 'bin', 'my-server'));
  }
  const program = {
    title: 'My Server',
    variable: 'MY_SERVER_PATH',
    commands: ['my-server'],
    debianPackage: 'mine',
  };
  expect(findProgram(program)).toBeUndefined();
  expect(findProgram({ ...program, versionsFolder: join(bin, 'nowhere') })).toBeUndefined();
  expect(findProgram({ ...program, versionsFolder: join(bin, 'versions') })).toBe(
    join(bin, 'versions', '15', 'bin', 'my-server'),
  );
});

test('redis-server is linked from the tools, whose package brings no service', () => {
  put('chromium');
  rmSync(join(bin, 'redis-server'));
  rmSync(join(bin, 'redis-cli'));
  const folder = join(bin, 'linked');
  const tools = ['redis-check-rdb', 'redis-cli'].map(
    (name) => `cp ${join(bin, 'apt-get')} ${join(bin, name)}`,
  );
  putAptGet(`case "$*" in *install*) ${tools.join('; ')};; esac`);
  const { status, stdout, stderr } = run({ TEST_PROGRAMS_FOLDER: folder });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(
    /^The tests need redis-server and redis-cli: installing redis-tools with apt-get.*\n$/,
  );
  expect(readFileSync(join(bin, 'calls'), 'utf8')).toMatch(
    / install --yes --no-install-recommends redis-tools\n$/,
  );
  // By its own name: that is how the program knows what it is.
  expect(readlinkSync(join(folder, 'redis-server'))).toBe(join(bin, 'redis-check-rdb'));
  expect(run({ TEST_PROGRAMS_FOLDER: folder })).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('with the tools of Redis already there, the link is all that is made', () => {
  put('chromium');
  rmSync(join(bin, 'redis-server'));
  put('redis-check-rdb');
  const folder = join(bin, 'linked');
  expect(run({ TEST_PROGRAMS_FOLDER: folder })).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readdirSync(folder)).toEqual(['redis-server']);

  // Left over from tools that were removed and came back elsewhere.
  rmSync(join(folder, 'redis-server'));
  symlinkSync(join(bin, 'not-there'), join(folder, 'redis-server'));
  expect(run({ TEST_PROGRAMS_FOLDER: folder })).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(readlinkSync(join(folder, 'redis-server'))).toBe(join(bin, 'redis-check-rdb'));
});

test('a Python that lacks a module is no Python for the tests: the packages are installed', () => {
  put('chromium');
  put('python3', 'exit 1');
  putAptGet(`case "$*" in *install*) printf '#!/bin/sh\n' > ${join(bin, 'python3')};; esac`);
  const { status, stdout, stderr } = run();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(
    /^The tests need Python with gRPC, numpy, scikit-learn and pytest: installing python3-grpcio python3-numpy python3-protobuf python3-pytest python3-sklearn with apt-get.*\n$/,
  );
});

test('without apt-get it says which modules no Python on PATH has', () => {
  put('chromium');
  put('python3', 'exit 1');
  const { status, stderr } = run();
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /no python3 on PATH can import grpc, numpy, google\.protobuf, sklearn, joblib, pytest\. .*install python3-grpcio .*set PYTHON_PATH/,
  );
});

test('of several on PATH the first Python that has the modules will do', () => {
  put('chromium');
  put('python3', 'exit 1');
  const other = mkdtempSync(join(bin, 'other-'));
  writeFileSync(
    join(other, 'python3'),
    '#!/bin/sh\ncase "$*" in "-c import grpc, "*) ;; *) exit 1;; esac\n',
    {
      mode: 0o755,
    },
  );
  expect(run({ PATH: `${bin}:${other}` })).toEqual({ status: 0, stdout: '', stderr: '' });
});

test('when apt-get fails, what it said is shown, and what to do instead', () => {
  putAptGet('echo no network >&2; exit 100');
  const { status, stderr } = run();
  expect(status).toBe(1);
  expect(stderr).toMatch(/no network[\s\S]*set CHROMIUM_PATH/);
});

/** A program that does what the shell code says. */
function put(name: string, code = ''): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${code}\n`);
  chmodSync(join(bin, name), 0o755);
}

/** Writes down how it was called, first of all. And `sudo`, for where the tests are not run by root. */
function putAptGet(code: string): void {
  put('apt-get', `PATH=/usr/bin:/bin; echo "$DEBIAN_FRONTEND $*" >> ${join(bin, 'calls')}; ${code}`);
  put('sudo', 'exec "$@"');
  const env = ['/usr/bin/env', '/bin/env'].find(existsSync);
  if (env !== undefined) symlinkSync(env, join(bin, 'env'));
}

function run(variables: Record<string, string> = {}, names: readonly string[] = []) {
  // What this machine has unpacked for its own tests must not be found.
  const machine = { PATH: bin, TEST_PROGRAMS_FOLDER: join(bin, 'none-unpacked') };
  const options = { env: { ...machine, ...variables }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...names], options);
  return { status, stdout, stderr };
}
