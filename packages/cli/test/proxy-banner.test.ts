import { PLAIN } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { proxyBanner } from '../src/proxy/proxy-banner.js';
import { optionsOf } from './support/proxy-options.js';

const address = { host: '127.0.0.1', port: 50_049 };
const adminAddress = { host: '127.0.0.1', port: 50_050, url: 'http://127.0.0.1:50050' };

function bannerOf(args: readonly string[], addresses: object = {}): string {
  const options = optionsOf(args);
  if (Array.isArray(options)) throw new Error(options.join('\n'));
  return proxyBanner({ address, adminAddress, ...addresses }, options, PLAIN);
}

test('has the address, the batched methods, the backends and the HTTP port', () => {
  const args =
    '--max-batch-size 8 --timeout-usecs 2000 --method */Compute --method /a.B/C=D --target x:1 --target y:2';
  expect(bannerOf(args.split(' '))).toBe(`Batchwise proxies gRPC at 127.0.0.1:50049

  batched    */Compute → BatchedCompute   up to 8 per batch, window of 2 ms
             /a.B/C → D                   up to 8 per batch, window of 2 ms
             all other methods            passed through
  backends   x:1                          1 batch at a time
             y:2                          1 batch at a time
  admin      http://127.0.0.1:50050       /metrics, /livez, /readyz, /healthz

Ctrl-C stops it.
`);
});

test('has the defaults', () => {
  expect(bannerOf([])).toContain(`
  batched    */Compute → BatchedCompute   up to 64 per batch, adaptive
             all other methods            passed through
  backends   localhost:50051              1 batch at a time
`);
});

test('has the target latency, the concurrent batches, and TLS to backends', () => {
  const banner = bannerOf(['--target-latency-ms', '50', '--max-batches-in-flight', '3', '--backend-tls']);
  expect(banner).toContain('up to 64 per batch, adaptive, target 50 ms');
  expect(banner).toContain('3 batches at a time, TLS');
});

test('puts an IPv6 address in brackets, and omits a disabled HTTP port', () => {
  const banner = bannerOf(['--no-admin'], { address: { host: '::1', port: 7 }, adminAddress: undefined });
  expect(banner).toContain('proxies gRPC at [::1]:7\n');
  expect(banner).not.toContain('admin');
});

test.each([
  [{ cert: 'c', key: 'k' }, ' with TLS\n'],
  [{ cert: 'c', key: 'k', clientCa: 'ca' }, ' with mutual TLS\n'],
])('has %j in its first line', (tls, end) => {
  expect(proxyBanner({ address, adminAddress }, { tls }, PLAIN).split('\n\n')[0]).toBe(
    `Batchwise proxies gRPC at 127.0.0.1:50049${end.trimEnd()}`,
  );
});
