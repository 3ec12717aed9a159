/** The health of the proxy itself in the gRPC health protocol. */
import { EventEmitter } from 'node:events';
import { type CallStream, messageOf, STATUS } from '@batchwise/grpc';
import { describe, expect, it } from 'vitest';
import { HealthService } from '../src/admin/health-service.js';
import { FakeCaller } from './fakes/fake-caller.js';

const CHECK = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const [SERVING, NOT_SERVING, SERVICE_UNKNOWN] = ['\b\u0001', '\b\u0002', '\b\u0003'];

/** The parts of a stream that the Watch call uses. */
class FakeStream extends EventEmitter {
  readonly sent: string[] = [];
  trailers: object | undefined = undefined;
  destroyed = false;
  closed = false;
  writableEnded = false;

  respond(): void {}

  write(frame: Buffer): void {
    this.sent.push(messageOf(frame).toString());
  }

  end(): void {
    this.writableEnded = true;
    this.emit('wantTrailers');
  }

  sendTrailers(trailers: object): void {
    this.trailers = trailers;
  }
}

function healthy() {
  const state = { isServing: true };
  const health = new HealthService(() => state.isServing);
  const watch = (request = '') => {
    const stream = new FakeStream();
    const caller = Object.assign(new FakeCaller({ path: WATCH }), {
      stream: stream as unknown as CallStream,
    });
    expect(health.accept(caller)).toBe(true);
    caller.sends(request);
    return { stream, caller };
  };
  const check = (request = '') => {
    const caller = new FakeCaller({ path: CHECK });
    expect(health.accept(caller)).toBe(true);
    return caller.sends(request).outcome;
  };
  return { state, health, watch, check };
}

describe('a check', () => {
  it('is answered for the proxy, with an empty or missing service name', () => {
    const { state, check } = healthy();
    expect(check()?.text).toBe(SERVING);
    expect(check('\n\0')?.text).toBe(SERVING);
    state.isServing = false;
    expect(check()?.text).toBe(NOT_SERVING);
  });

  it('for another service fails and names the setting to change', () => {
    const outcome = healthy().check('\n\u0003a.B');
    expect(outcome?.status).toBe(STATUS.NOT_FOUND);
    expect(outcome?.error?.message).toContain('"pass"');
  });
});

describe('a watcher', () => {
  it('receives the status at once and after every change', () => {
    const { state, health, watch } = healthy();
    health.update();
    const { stream } = watch();
    health.update();
    state.isServing = false;
    health.update();
    health.update();
    state.isServing = true;
    health.update();
    expect(stream.sent).toEqual([SERVING, NOT_SERVING, SERVING]);
  });

  it('of an unknown service receives SERVICE_UNKNOWN only', () => {
    const { state, health, watch } = healthy();
    health.update();
    const { stream } = watch('\n\u0003a.B');
    state.isServing = false;
    health.update();
    expect(stream.sent).toEqual([SERVICE_UNKNOWN]);
  });

  it('is removed when it disconnects', () => {
    const { health, watch } = healthy();
    const { caller } = watch();
    expect(health.watchers).toBe(1);
    caller.cancels();
    expect(health.watchers).toBe(0);
  });

  it('receives the last status and ends when the proxy closes', () => {
    const { state, health, watch } = healthy();
    health.update();
    const { stream } = watch();
    state.isServing = false;
    health.end();
    expect(stream.sent).toEqual([SERVING, NOT_SERVING]);
    expect(stream.trailers).toMatchObject({ 'grpc-status': String(STATUS.UNAVAILABLE) });
    expect(watch().stream.writableEnded).toBe(true);
  });
});

it('ignores other methods', () => {
  expect(healthy().health.accept(new FakeCaller({ path: '/grpc.health.v1.Health/Other' }))).toBe(false);
});
