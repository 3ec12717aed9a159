import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { InflateQueue } from '../../src/http/inflate-queue.js';
import { HttpStage } from './support/http-stage.js';
import { get, post } from './support/raw-client.js';

// All were decompressed at once: a megabyte of pipelined requests took gigabytes.
test('a few are decompressed at a time, the next when one has ended, and nobody whose client has gone', () => {
  const queue = new InflateQueue();
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const unwanted = new Set<number>();
  for (let i = 0; i < 10; i++) {
    queue.add({
      isWanted: () => !unwanted.has(i),
      start: (ended) => {
        started.push(i);
        ends.push(ended);
      },
    });
  }
  expect(started).toEqual([0, 1, 2, 3]);
  ends.shift()?.();
  expect(started).toEqual([0, 1, 2, 3, 4]);
  unwanted.add(5).add(6);
  ends.shift()?.();
  expect(started).toEqual([0, 1, 2, 3, 4, 7]);
  for (let end = ends.shift(); end !== undefined; end = ends.shift()) end();
  expect(started).toEqual([0, 1, 2, 3, 4, 7, 8, 9]);
});

test('however many come compressed, each is answered in its turn, good or not', async () => {
  const stage = await HttpStage.open({ limits: { maxBodyBytes: 100_000 } });
  const [client, gone] = [await stage.client(), await stage.client()];
  const header = 'content-encoding: gzip\r\n';
  const bodies = [gzipSync('good'), gzipSync(Buffer.alloc(1_000_000)), Buffer.from('no gzip')];
  const all = Buffer.concat(bodies.map((body) => post('/echo', body, header)));
  gone.send(Buffer.concat(Array(20).fill(all)));
  client.send(Buffer.concat(Array(20).fill(all)));
  gone.hangUp();
  for (let i = 0; i < 20; i++) {
    expect(await client.answer()).toMatchObject({ status: 200, body: 'good' });
    expect((await client.answer()).status).toBe(413);
    expect((await client.answer()).status).toBe(400);
  }
  expect((await client.send(get('/')).answer()).body).toBe('root');
  await stage.connectionsLeft(1);
  expect(stage.server.inFlight).toBe(0);
  expect(stage.ended).toHaveLength(stage.started.length);
});
