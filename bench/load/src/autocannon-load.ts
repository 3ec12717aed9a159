/** A process that sends with autocannon, and prints what came of it. Each response is parsed and checked. */
import run from 'autocannon';
import type { Load, OwnFigures } from './generators.js';
import { EXPECTED_LABEL, REQUEST_BODY } from './native-server.js';

export interface AutocannonLoad extends Load {
  /** Of all connections together. @default as fast as they can */
  readonly perSecond?: number;
}

const { url, connections, seconds, perSecond } = JSON.parse(process.argv[2] as string) as AutocannonLoad;

const result = await run({
  url,
  connections,
  duration: seconds,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: REQUEST_BODY,
  ...(perSecond !== undefined && { overallRate: perSecond }),
  verifyBody: (body) => (JSON.parse(String(body)) as { label?: unknown }).label === EXPECTED_LABEL,
});

const failed = result.non2xx + result.errors + result.mismatches;
const figures: OwnFigures = {
  ok: result['2xx'] - result.mismatches,
  failed,
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
  maxMs: result.latency.max,
};
process.stdout.write(JSON.stringify(figures));
