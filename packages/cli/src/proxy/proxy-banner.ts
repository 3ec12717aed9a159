/** The text after the start of the proxy: its address, the batched methods, the backends. */
import type { Palette } from '@batchwise/arena';
import type { MethodOptions, ProxyOptions } from '@batchwise/proxy';

/** The listening addresses. */
export interface ProxyAddresses {
  readonly address: { readonly host: string; readonly port: number };
  readonly adminAddress: { readonly url: string } | undefined;
}

const DEFAULT_BATCH_SIZE = 64;

export function proxyBanner(
  { address, adminAddress }: ProxyAddresses,
  { methods = [], targets = ['localhost:50051'], maxBatchesInFlight = 1, tls, backendTls }: ProxyOptions,
  { heading, faint }: Palette,
): string {
  const rows: [what: string, value: string, more: string][] = [];
  for (const [i, method] of methods.entries())
    rows.push([i === 0 ? 'batched' : '', `${method.method} → ${batchedName(method)}`, howOf(method)]);
  rows.push(['', 'all other methods', 'passed through']);
  const inFlight = maxBatchesInFlight === 1 ? '1 batch' : `${maxBatchesInFlight} batches`;
  const of = `${inFlight} at a time${backendTls === undefined ? '' : ', TLS'}`;
  for (const [i, target] of targets.entries()) rows.push([i === 0 ? 'backends' : '', target, of]);
  if (adminAddress !== undefined)
    rows.push(['admin', adminAddress.url, '/metrics, /livez, /readyz, /healthz']);
  const width = Math.max(...rows.map(([, value]) => value.length));
  const lines = rows.map(
    ([what, value, more]) => `  ${what.padEnd(8)}   ${value.padEnd(width)}   ${faint(more)}`,
  );
  const secured = tls === undefined ? '' : tls.clientCa === undefined ? ' with TLS' : ' with mutual TLS';
  return `${heading('Batchwise')} proxies gRPC at ${heading(hostAndPort(address))}${secured}\n\n${lines.join('\n')}\n\nCtrl-C stops it.\n`;
}

function hostAndPort({ host, port }: ProxyAddresses['address']): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function batchedName({ method, batched }: MethodOptions): string {
  return batched ?? `Batched${method.slice(method.lastIndexOf('/') + 1)}`;
}

function howOf({ maxBatchSize = DEFAULT_BATCH_SIZE, maxWaitMs, targetLatencyMs }: MethodOptions): string {
  const size = `up to ${maxBatchSize} per batch`;
  const target = targetLatencyMs === undefined ? '' : `, target ${targetLatencyMs} ms`;
  return maxWaitMs === undefined
    ? `${size}, adaptive${target}`
    : `${size}, window of ${maxWaitMs} ms${target}`;
}
