/** The fixtures of the other tests do what they say. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { startChild } from '../support/child.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { Ledger } from '../support/ledger.js';
import { startCluster } from '../support/redis-cluster.js';
import { startSentinel } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis-server.js';

test.concurrent('with AOF, Redis keeps its data through kill -9 and restart', async () => {
  await using redis = await startRedis({ aof: true });
  await redis.cli('SET', 'kept', 'yes');
  const { pid } = redis.process;
  await redis.kill();
  expect(redis.isRunning).toBe(false);
  await expect(redis.cli('PING')).rejects.toThrow('Could not connect');

  await redis.restart();
  expect(redis.process.pid).not.toBe(pid);
  expect(await redis.cli('GET', 'kept')).toBe('yes');

  const { folder } = redis;
  await redis.stop();
  expect(existsSync(folder)).toBe(false);
  await expect(redis.cli('PING')).rejects.toThrow('Could not connect');
});

test.concurrent('without AOF it forgets, and settings are its own', async () => {
  await using redis = await startRedis({ settings: ['maxmemory-policy allkeys-lru', 'requirepass secret'] });
  await redis.cli('SET', 'forgotten', 'yes');
  await redis.restart();
  expect(await redis.cli('GET', 'forgotten')).toBe('');
  expect(await redis.cli('CONFIG', 'GET', 'maxmemory-policy')).toBe('maxmemory-policy\nallkeys-lru');
});

test.concurrent('what Redis does not understand is an error, and so is a port that is taken', async () => {
  await expect(startRedis({ settings: ['no-such-setting 1'] })).rejects.toThrow('no-such-setting');
  await using redis = await startRedis();
  await expect(redis.cli('NOSUCH')).rejects.toThrow('unknown command');
  await expect(startRedis({ port: redis.port })).rejects.toThrow('Address already in use');
});

test.concurrent('TLS is the only way in, and mutual TLS only with a certificate', async () => {
  await using redis = await startRedis({ tls: true });
  await using mutual = await startRedis({ tls: 'mutual' });
  expect(redis.url).toBe(`rediss://127.0.0.1:${redis.port}`);
  expect(await redis.cli('PING')).toBe('PONG');
  expect(await mutual.cli('PING')).toBe('PONG');

  expect(await ping(redis.port, { ca: redis.certificates?.ca })).toBe('+PONG\r\n');
  await expect(ping(redis.port, { ca: mutual.certificates?.ca })).rejects.toThrow('certificate');
  const { ca, client } = mutual.certificates ?? {};
  expect(await ping(mutual.port, { ca, ...client })).toBe('+PONG\r\n');
  await expect(ping(mutual.port, { ca })).rejects.toThrow();
});

test.concurrent('a paused Redis answers when it goes on', async () => {
  await using redis = await startRedis();
  redis.pause();
  let hasAnswered = false;
  const pong = redis.cli('PING').then((answer) => {
    hasAnswered = true;
    return answer;
  });
  await eventually('it to be stopped', () => stateOf(redis.process.pid) === 'T');
  expect(hasAnswered).toBe(false);
  redis.resume();
  expect(await pong).toBe('PONG');
});

test.concurrent('a cluster serves each key at one node, and a slot moves to another with its keys', async () => {
  await using cluster = await startCluster();
  const key = '{digits}:a';
  const owner = await cluster.ownerOf(key);
  const other = await cluster.otherThanOwnerOf(key);
  expect(cluster.urls).toHaveLength(3);
  const slot = await cluster.slotOf(key);
  await owner.cli('MSET', key, '1', '{digits}:b', '2');
  await expect(other.cli('GET', key)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${owner.port}`);

  const move = await cluster.beginMoveOf(key, other);
  expect(await owner.cli('GET', key)).toBe('1');
  await move.moveKeys();
  await expect(owner.cli('GET', key)).rejects.toThrow(`ASK ${slot} 127.0.0.1:${other.port}`);
  await move.finish();
  expect(await cluster.ownerOf(key)).toBe(other);
  expect(await other.cli('MGET', key, '{digits}:b')).toBe('1\n2');
  for (const node of cluster.nodes.filter((node) => node !== other)) {
    await expect(node.cli('GET', key)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${other.port}`);
  }

  await cluster.moveSlotOf(key, owner);
  expect(await owner.cli('MGET', key, '{digits}:b')).toBe('1\n2');
  await expect(cluster.moveSlotOf(key, owner)).rejects.toThrow('already');
});

test.concurrent('sentinels replace a master that was killed', async () => {
  await using sentinel = await startSentinel();
  const { master, replica } = sentinel;
  await master.cli('SET', 'key', 'value');
  await eventually('the replica to have it', async () => (await replica.cli('GET', 'key')) === 'value');
  await expect(replica.cli('SET', 'key', 'other')).rejects.toThrow('READONLY');

  await sentinel.failOver();
  expect(sentinel.master).toBe(replica);
  expect(master.isRunning).toBe(false);
  expect(await replica.cli('GET', 'key')).toBe('value');
  await replica.cli('SET', 'key', 'other');

  await master.restart();
  await sentinel.replicaFollows();
  expect(await master.cli('GET', 'key')).toBe('other');
  await expect(master.cli('SET', 'key', 'value')).rejects.toThrow('READONLY');
});

test.concurrent('sentinels change master and replica on request', async () => {
  await using sentinel = await startSentinel();
  const { master, replica } = sentinel;
  await sentinel.switchOver();
  expect(sentinel.master).toBe(replica);
  await expect(master.cli('SET', 'key', 'value')).rejects.toThrow('READONLY');
  await replica.cli('SET', 'key', 'value');
});

test.concurrent('the proxy passes on what it does not understand', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  const client = plainClient(proxy.port);
  client.socket.write('PING\r\n');
  await eventually('the answer', () => client.received === '+PONG\r\n');
  expect(proxy.connections).toBe(1);
});

test.concurrent('after a write the proxy swallows the answer and ends the connection', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  const client = plainClient(proxy.port);
  // Together with others in one write, and in two pieces: all that counts are whole commands.
  const isCut = proxy.cutAfterWrite('INCR');
  const bytes = [resp('SET', 'first', 'x'), resp('INCR', 'count'), resp('SET', 'last', 'y')].join('');
  client.socket.write(bytes.slice(0, 40));
  client.socket.write(bytes.slice(40));
  await isCut;
  await client.closed;
  expect(await redis.cli('MGET', 'first', 'count', 'last')).toBe('x\n1\ny');
  expect(client.received).not.toContain(':1');
  expect(proxy.cuts).toBe(1);

  const next = plainClient(proxy.port);
  next.socket.write(resp('INCR', 'count'));
  await eventually('the answer', () => next.received === ':2\r\n');
});

test.concurrent('a write is carried out however often its answer is lost, and whatever went before it', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  // So large that most of it is still on its way when the command before it, which takes a while, is answered.
  const large = 'x'.repeat(4_000_000);
  const rounds = 10;
  for (let round = 1; round <= rounds; round += 1) {
    const isCut = proxy.cutAfterWrite('RPUSH');
    const client = plainClient(proxy.port);
    client.socket.write([resp('DEBUG', 'SLEEP', '0.05'), resp('RPUSH', 'list', large)].join(''));
    await isCut;
    await client.closed;
    expect(client.received).not.toContain(':');
  }
  expect(await redis.cli('LLEN', 'list')).toBe(`${rounds}`);
  expect(proxy.cuts).toBe(rounds);
});

test.concurrent('the proxy loses an answer that Redis gives later, to a command that blocks', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  const client = plainClient(proxy.port);
  const isCut = proxy.cutAfterWrite('BLPOP');
  client.socket.write(resp('BLPOP', 'list', '0'));
  await eventually('it to block', async () =>
    (await redis.cli('INFO', 'clients')).includes('blocked_clients:1'),
  );
  expect(proxy.connections).toBe(1);
  await redis.cli('RPUSH', 'list', 'lost');
  await isCut;
  await client.closed;
  expect(client.received).toBe('');
  expect(await redis.cli('LLEN', 'list')).toBe('0');
});

test.concurrent('before a write the proxy ends the connection, and Redis hears nothing', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  const client = plainClient(proxy.port);
  const isCut = proxy.cutBeforeWrite((command) => command.includes('INCR'));
  client.socket.write(resp('SET', 'first', 'x'));
  await eventually('the answer', () => client.received === '+OK\r\n');
  client.socket.write(resp('INCR', 'count'));
  await isCut;
  await client.closed;
  expect(await redis.cli('EXISTS', 'first', 'count')).toBe('1');
});

test.concurrent('the proxy cuts, refuses and holds', async () => {
  await using redis = await startRedis();
  await using proxy = await startCutProxy(redis.port);
  const first = plainClient(proxy.port);
  await eventually('a connection', () => proxy.connections === 1);
  proxy.cut();
  await first.closed;
  expect(proxy.connections).toBe(0);

  await proxy.refuse(true);
  const refused = plainClient(proxy.port);
  await refused.closed;
  expect(refused.error).toBe('ECONNREFUSED');
  await proxy.refuse(false);

  const open = plainClient(proxy.port);
  await eventually('a connection', () => proxy.connections === 1);
  proxy.pause();
  open.socket.write(resp('INCR', 'count'));
  const held = plainClient(proxy.port);
  held.socket.write(resp('INCR', 'count'));
  await eventually('another', () => proxy.connections === 2);
  expect(await redis.cli('EXISTS', 'count')).toBe('0');
  proxy.resume();
  await eventually('both answers', () => open.received.length === 4 && held.received.length === 4);
  expect(await redis.cli('GET', 'count')).toBe('2');
});

test.concurrent('a killed process leaves none of those it started behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-orphans-'));
  const file = join(folder, 'parent.mjs');
  const guard = fileURLToPath(new URL('../support/orphan-guard.ts', import.meta.url));
  const bundle = join(folder, 'orphan-guard.mjs');
  await build({ entryPoints: [guard], outfile: bundle, platform: 'node', format: 'esm' });
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process';
     import { guardAgainstOrphans } from './orphan-guard.mjs';
     const sleepers = [1, 2, 3].map(() => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']));
     for (const sleeper of sleepers) guardAgainstOrphans(sleeper);
     sleepers[1].kill();
     sleepers[1].once('exit', () => process.send(sleepers.map(({ pid }) => pid)));`,
  );
  await using parent = startChild(file);
  const [first, , third] = await parent.until<readonly number[]>(() => true);
  expect([first, third].map((pid) => stateOf(pid))).not.toContain(undefined);
  await parent.kill();
  await eventually('the others to be gone', () => isGone(first) && isGone(third));
  rmSync(folder, { recursive: true });
});

const startedForATest: number[] = [];

test('a child tells by lines and by messages, is frozen, goes on, and is gone with the test', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-child-'));
  const file = join(folder, 'child.mjs');
  writeFileSync(
    file,
    `console.log(JSON.stringify({ by: 'line', given: process.argv[2], env: process.env.GIVEN }));
     console.log('not a message');
     process.on('message', (message) => {
       if (message === 'leave') process.exit(3);
       process.send({ by: 'message', message });
     });`,
  );
  const child = await forThisTest(startChild(file, { args: ['argument'], env: { GIVEN: 'variable' } }));
  type Message = { readonly by: string };
  const line = await child.until<Message>(({ by }) => by === 'line');
  expect(line).toEqual({ by: 'line', given: 'argument', env: 'variable' });

  child.stop();
  await eventually('it to be stopped', () => stateOf(child.pid) === 'T');
  child.send('hello');
  child.cont();
  expect(await child.until<Message>(({ by }) => by === 'message')).toEqual({
    by: 'message',
    message: 'hello',
  });
  expect(child.messages).toHaveLength(2);
  child.send('leave');
  expect(await child.exited).toEqual({ code: 3, signal: null });
  await expect(child.until<Message>(({ by }) => by === 'nobody')).rejects.toThrow(
    /ended with 3\nnot a message/,
  );

  const frozen = await forThisTest(startChild(file));
  startedForATest.push(frozen.pid);
  await frozen.until(() => true);
  frozen.stop();
  rmSync(folder, { recursive: true });
});

test('what is started for a test is gone after it', () => {
  expect(startedForATest.map((pid) => stateOf(pid))).toEqual([undefined]);
});

test('the ledger finds what was not settled, settled twice or never submitted', () => {
  const ledger = new Ledger();
  for (const id of ['good', 'late', 'lost', 'double']) ledger.submitted(id);
  expect(ledger.unsettled).toBe(4);
  ledger.settled('good', 'answered');
  ledger.settled('late', 'DEADLINE_EXCEEDED');
  ledger.settled('double', 'answered');
  expect(ledger.audit()).toEqual(['lost was never settled']);
  ledger.settled('double', 'answered');
  ledger.settled('stranger', 'answered');
  ledger.submitted('good');
  expect(ledger.audit()).toEqual([
    'good was submitted 2 times',
    'lost was never settled',
    'double was settled 2 times: answered, answered',
    'stranger was settled (answered) but never submitted',
  ]);
  expect(ledger.unsettled).toBe(1);
  expect(ledger.outcomes).toEqual({ answered: 4, DEADLINE_EXCEEDED: 1 });
});

/** The letter that the kernel has for what the process does; undefined when there is none. */
function stateOf(pid: number | undefined): string | undefined {
  try {
    return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** A zombie is gone, too: it only waits for somebody to take note. */
function isGone(pid: number | undefined): boolean {
  return [undefined, 'Z'].includes(stateOf(pid));
}

function resp(...parts: readonly string[]): string {
  const bulks = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
  return `*${parts.length}\r\n${bulks.join('')}`;
}

/** A connection without a client's cleverness: what came, and how it ended. */
function plainClient(port: number) {
  const socket = connectPlain(port, '127.0.0.1');
  const client = {
    socket,
    received: '',
    error: undefined as string | undefined,
    closed: new Promise<void>((resolve) => socket.once('close', () => resolve())),
  };
  socket.on('data', (bytes) => {
    client.received += bytes;
  });
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    client.error = code;
  });
  return client;
}

function ping(port: number, options: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ...options }, () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      resolve(String(answer));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
}
