/** What requests that are never completed cost a server in memory, whose limit of a body has been raised to 64 MiB. */
import { readFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { InferenceClient } from '../grpc/support/inference-client.js';
import { MeasuredServer } from '../serve-support/event-loop-cost.js';

const MIB = 2 ** 20;
const CHUNK = Buffer.alloc(MIB, ' ');
/** Half of what was found; the budget is 256 MiB, a body that grows is there twice for a moment. */
const MOST_BYTES = 1200 * MIB;

describe('requests that are never completed', () => {
  let server: MeasuredServer;
  beforeAll(async () => {
    server = await MeasuredServer.start({ yaml: 'server: { limits: { body_bytes: 64MiB } }' });
  });
  afterAll(() => server.close());

  const peakBytes = () =>
    1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]);

  /** Sends all but the last of 63 MiB. Resolves when that is done, or when it is rejected, with the status. */
  function unfinished(): Promise<number> {
    const socket = connect(server.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    return new Promise((resolve) => {
      let left = 62;
      const send = (): void => {
        for (; left > 0; left--) {
          if (socket.write(CHUNK)) continue;
          left--;
          return;
        }
        resolve(0);
      };
      socket.on('drain', send);
      socket.on('data', (answer) => resolve(Number(answer.toString('latin1', 9, 12))));
      socket.on('error', () => resolve(-1));
      socket.write(`POST /any HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${63 * MIB}\r\n\r\n`);
      send();
    });
  }

  test('of 40 connections stay within the budget, and others are answered', async () => {
    const statuses = await Promise.all(Array.from({ length: 40 }, unfinished));
    expect(statuses.filter((status) => status === 503 || status === -1).length).toBeGreaterThanOrEqual(36);
    expect(statuses).toContain(503);
    expect(await server.post('/any', '{}')).toBe(200);
    expect(peakBytes()).toBeLessThan(MOST_BYTES);
  });

  test('of one gRPC connection leave half of the budget to others', async () => {
    // Of megabytes: what the client itself keeps until it is sent.
    const session = connectHttp2(`http://127.0.0.1:${server.grpcPort}`, { maxSessionMemory: 4096 });
    onTestFinished(() => session.destroy());
    session.on('error', () => {});
    const message = Buffer.alloc(60 * MIB);
    message.writeUInt32BE(message.length, 1);
    const rejected = Array.from({ length: 25 }, () => {
      const call = session.request({
        ':method': 'POST',
        ':path': '/inference.GRPCInferenceService/ModelInfer',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      call.on('error', () => {});
      call.write(message);
      return new Promise<unknown>((resolve) => {
        call.on('response', (headers) => resolve(headers['grpc-status']));
      });
    });
    expect(await Promise.race(rejected)).toBe('8');
    const other = new InferenceClient(server.grpcPort);
    onTestFinished(() => other.close());
    expect(await other.ask('ServerLive')).toEqual({ live: true });
    expect(peakBytes()).toBeLessThan(MOST_BYTES);
  });
});
