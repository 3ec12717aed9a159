/** One measurement with fresh processes: backend, proxy or hop, and client. */
import type { DeviceName, DeviceReport } from './backends/device.js';
import { COLLECTING } from './collection.js';
import type { Load, LoadReport } from './load.js';
import { SideProcess } from './side-process.js';

/** The process between client and backend, and the gRPC library of both. */
export type Route = 'proxy' | 'bare' | 'bare-hop' | 'grpc-js';

/** The options of the proxy's method. */
export interface Batching {
  readonly maxBatchSize: number;
  /** With a value: the window policy. Otherwise: the adaptive policy. */
  readonly maxWaitMs?: number;
}

export interface Trial {
  readonly route: Route;
  readonly load: Load;
  readonly device: DeviceName;
  readonly batching?: Batching;
  /** Whether requests for V8's compilation precede the load, because it has too few of its own. */
  readonly isHeated?: boolean;
}

export interface TrialResult extends LoadReport {
  readonly device: DeviceReport;
  /** CPU time of each process in the timed part, in microseconds per request. */
  readonly cpuUs: Readonly<Record<string, number>>;
}

const READY_WITHIN_MS = 30_000;
const HEATED_WITHIN_MS = 120_000;
/** Time for the requests in flight at the end of the load. */
const BEYOND_LOAD_MS = 30_000;

export async function runTrial({ route, load, device, batching, isHeated }: Trial): Promise<TrialResult> {
  const language = route === 'grpc-js' ? 'grpc-js' : 'http2';
  const sides: Record<string, SideProcess> = {};
  async function start(name: string, module: string, args: readonly string[]): Promise<number> {
    const measures = name === 'client' || name === 'backend';
    const side = new SideProcess(module, args, measures && load.kind === 'bursts' ? COLLECTING : []);
    sides[name] = side;
    return (await side.receive('ready', READY_WITHIN_MS)).port;
  }
  try {
    // A proxy learns the durations from the first batch on. Without a proxy the device would only slow down the warm-up.
    const power = route === 'proxy' ? 'on' : 'off';
    let port = await start('backend', './backend.js', [language, device, power]);
    if (route === 'bare-hop') port = await start('hop', './bare-hop.js', [String(port)]);
    if (route === 'proxy') {
      port = await start('proxy', './proxy.js', [String(port), JSON.stringify(batching ?? {})]);
    }
    await start('client', './client.js', [language, String(port), JSON.stringify(load)]);
    const { client, backend } = sides as { client: SideProcess; backend: SideProcess };
    if (isHeated) {
      client.send('heat');
      await client.receive('heated', HEATED_WITHIN_MS);
    }
    backend.send('begin');
    client.send('begin');
    await client.receive('timed', load.warmupMs + READY_WITHIN_MS);
    const before = await cpuOf(sides);
    const { report } = await client.receive('load', load.timedMs + BEYOND_LOAD_MS);
    const after = await cpuOf(sides);
    backend.send('report');
    return {
      ...report,
      device: (await backend.receive('device', READY_WITHIN_MS)).report,
      cpuUs: Object.fromEntries(
        Object.entries(after).map(([name, ms]) => [
          name,
          (1000 * (ms - (before[name] ?? 0))) / report.answered,
        ]),
      ),
    };
  } finally {
    await Promise.all(Object.values(sides).map((side) => side.stop()));
  }
}

async function cpuOf(sides: Readonly<Record<string, SideProcess>>): Promise<Record<string, number>> {
  const all = Object.entries(sides).map(async ([name, side]) => [name, await side.cpuMs(READY_WITHIN_MS)]);
  return Object.fromEntries(await Promise.all(all));
}
