/** Every option is validated. An error has the name of the option, the expected and the given value. */
import { describe, expect, it } from 'vitest';
import { type ProxyOptions, proxySettings } from '../src/options/proxy-options.js';

const settingsOf = (options: unknown) => () => proxySettings(options as ProxyOptions);

describe('options', () => {
  it('have the documented defaults', () => {
    const settings = proxySettings();
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      port: 50_049,
      maxBatchesInFlight: 1,
      adminPort: false,
    });
    expect(settings.targets.map(({ text }) => text)).toEqual(['localhost:50051']);
    expect(settings.methods).toMatchObject([{ method: '*/Compute', maxBatchSize: 64, maxQueueSize: 10_000 }]);
    expect(settings.methods[0]?.maxWaitMs).toBeUndefined();
    expect(Object.isFrozen(settings)).toBe(true);
  });

  it('that are undefined get their defaults', () => {
    const options = { port: undefined, healthCheck: { intervalMs: undefined }, methods: undefined };
    expect(proxySettings(options)).toEqual({ ...proxySettings(), log: expect.any(Function) });
  });

  it('that are unknown are rejected with a suggestion', () => {
    expect(settingsOf({ prot: 1 })).toThrow(
      /unknown option "prot"\. Did you mean port\? Known are host, port/,
    );
    expect(settingsOf({ methods: [{ method: '*/A', maxBatchSzie: 1 }] })).toThrow(
      /methods\[0\]: unknown option "maxBatchSzie"\. Did you mean maxBatchSize\?/,
    );
    expect(settingsOf({ healthCheck: { interval: 1 } })).toThrow(/healthCheck: unknown option "interval"/);
  });

  it.each([
    [{ port: 70_000 }, /port: expected a port .* got 70000/],
    [{ port: '1' }, /port: expected a port .* got the string "1"/],
    [{ host: '' }, /host: expected a string that is not empty/],
    [{ targets: [] }, /targets: expected at least one target, got an array of 0/],
    [{ targets: 'localhost:1' }, /targets: expected a list of targets, got the string "localhost:1"/],
    [{ targets: ['localhost'] }, /targets\[0\]: expected 'host:port'.* got the string "localhost"/],
    [{ targets: ['a:1', 'http://b:2'] }, /targets\[1\]: expected 'host:port'/],
    [{ targets: ['a:0'] }, /targets\[0\]: expected/],
    [{ maxBatchesInFlight: 0 }, /maxBatchesInFlight: expected a whole number from 1 to 10000, got 0/],
    [{ methods: [{}] }, /methods\[0\]\.method: expected/],
    [{ methods: [{ method: 'Compute' }] }, /methods\[0\]\.method: expected '\/pkg\.Service\/Method'/],
    [{ methods: [{ method: '/a/*' }] }, /methods\[0\]\.method: expected/],
    [{ methods: [{ method: '*/A', batched: 'a/b' }] }, /methods\[0\]\.batched: expected a method's name/],
    [
      { methods: [{ method: '*/A', maxBatchSize: 0 }] },
      /methods\[0\]\.maxBatchSize: expected a whole number/,
    ],
    [{ methods: [{ method: '*/A', maxWaitMs: -1 }] }, /methods\[0\]\.maxWaitMs: expected milliseconds/],
    [{ methods: [{ method: '*/A', timeoutMs: 0 }] }, /methods\[0\]\.timeoutMs: expected milliseconds/],
    [
      { methods: [{ method: '*/A', groupBy: { metadata: ['a b'] } }] },
      /groupBy\.metadata\[0\]: expected a metadata key/,
    ],
    [
      { methods: [{ method: '*/A', groupBy: { metadata: ['grpc-timeout'] } }] },
      /got the protocol header grpc-timeout/,
    ],
    [
      { methods: [{ method: '*/A', groupBy: { messageBytes: [5, 5] } }] },
      /messageBytes\[1\]: expected more than 5, got 5/,
    ],
    [{ tls: { cert: 'x' } }, /tls\.key: expected PEM text/],
    [{ backendTls: 1 }, /backendTls: expected an object, got 1/],
    [
      { backendTls: { ca: 'nonsense' } },
      /backendTls\.ca: expected a certificate as PEM text, got the string/,
    ],
    [
      { tls: { cert: 'nonsense', key: 'x' } },
      /tls: expected a certificate and its key as PEM text, but: no start line/,
    ],
    [{ limits: { maxStreams: 1 } }, /limits: unknown limit maxStreams/],
    [{ limits: { maxConcurrentStreams: 1.5 } }, /limits\.maxConcurrentStreams: expected a whole number/],
    [{ limits: { maxMessageBytes: 1 } }, /limits\.maxMessageBytes: set the option maxMessageBytes instead/],
    [{ clock: { now: () => 0 } }, /clock: expected a clock with now, setTimer, clearTimer, defer/],
    [{ methods: [{ method: '*/A', groupBy: { metadata: ['te'] } }] }, /got the protocol header te\./],
    [
      { methods: [{ method: '*/A', groupBy: { metadata: ['User-Agent'] } }] },
      /got the protocol header user-agent/,
    ],
    [{ backendTls: { cert: 'x' } }, /backendTls: expected cert and key together/],
    [{ health: 'yes' }, /health: expected 'answer' or 'pass', got the string "yes"/],
    [{ ejection: { failures: 0 } }, /ejection\.failures: expected a whole number from 1 up, got 0/],
    [{ log: 'stderr' }, /log: expected a function/],
    [{ clock: 1 }, /clock: expected a clock with .*, got 1/],
    [[], /startProxy\(options\): expected an object, got an array of 0/],
  ])('that are invalid are rejected: %j', (options, message) => {
    expect(settingsOf(options)).toThrow(message);
  });

  it('health checks, ejection and TLS can be turned off', () => {
    const settings = proxySettings({ healthCheck: false, ejection: false, backendTls: false });
    const { healthCheck, ejection, backendTls } = settings;
    expect([healthCheck, ejection, backendTls]).toEqual([undefined, undefined, undefined]);
  });

  it('accept targets of every kind and remove duplicates', () => {
    const targets = ['a:1', '[::1]:2', 'unix:/run/x', 'dns:///b.c:3', 'a:1'];
    expect(proxySettings({ targets }).targets).toMatchObject([
      { text: 'a:1', kind: 'fixed' },
      { text: '[::1]:2', kind: 'fixed' },
      { text: 'unix:/run/x', kind: 'fixed' },
      { text: 'dns:///b.c:3', kind: 'dns', name: 'b.c', port: 3 },
    ]);
  });
});
