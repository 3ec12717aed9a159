/** `serveBatched()` without a server: a definition, and a fake call of @grpc/grpc-js. */
import { Duplex } from 'node:stream';
import { Metadata, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import type { BatchedContext, ServeBatchedOptions } from '../../src/serve-batched/batched-options.js';
import { serveBatched } from '../../src/serve-batched/serve-batched.js';

/** A message is a number in JSON. */
function method(
  name: string,
  requestStream: boolean,
  responseStream: boolean,
): MethodDefinition<number, number> {
  const serialize = (value: number) => Buffer.from(JSON.stringify(value));
  const deserialize = (bytes: Buffer): number => JSON.parse(bytes.toString());
  return {
    path: `/test.Inference/${name}`,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

export const definition: ServiceDefinition = {
  Compute: method('Compute', false, false),
  BatchedCompute: method('BatchedCompute', true, true),
  Embed: method('Embed', false, false),
  EmbedMany: method('EmbedMany', true, true),
  Watch: method('Watch', false, true),
  Rank: method('Rank', false, false),
  BatchedRank: method('BatchedRank', true, false),
};

export const double = (items: number[]) => items.map((item) => 2 * item);

/** The behaviour of @grpc/grpc-js that these calls need. */
export class FakeCall extends Duplex {
  readonly metadata = new Metadata();
  readonly written: unknown[] = [];
  initial: Metadata | undefined;
  status: { code: number; details: string } | undefined;
  ends = 0;
  errors = 0;
  /** Undefined: writes complete at once. */
  #gate: (() => void)[] | undefined;

  constructor({ isGated = false } = {}) {
    super({ objectMode: true, highWaterMark: 2 });
    if (isGated) this.#gate = [];
    this.on('error', (error: Error & { code?: number }) => {
      this.errors += 1;
      this.status = { code: error.code ?? 2, details: error.message };
      this.end();
    });
  }

  getPath = () => '/test.Inference/BatchedCompute';
  getPeer = () => '10.0.0.1:1234';
  getDeadline = () => Number.POSITIVE_INFINITY;
  sendMetadata = (metadata: Metadata) => {
    this.initial = metadata;
  };

  override _read(): void {}

  override _write(message: unknown, _: unknown, callback: () => void): void {
    this.written.push(message);
    if (this.#gate === undefined) callback();
    else this.#gate.push(callback);
  }

  override _final(callback: () => void): void {
    this.ends += 1;
    this.status ??= { code: 0, details: '' };
    callback();
  }

  letOneThrough(): void {
    this.#gate?.shift()?.();
  }

  cancel(): void {
    this.emit('cancelled', 'cancelled');
    this.destroy();
  }

  send(...items: unknown[]): void {
    for (const item of items) this.push(item);
    this.push(null);
  }
}

/** Serves a call; `events` records the hook calls. */
export function serve(
  compute: (items: never[], context: BatchedContext) => unknown,
  options: ServeBatchedOptions = {},
  call = new FakeCall(),
) {
  const events: string[] = [];
  const implementation = serveBatched(
    definition,
    { compute: compute as never },
    {
      onItem: (item) => events.push(`item ${item}`),
      onExecute: (items) => events.push(`execute ${items.length}`),
      onFinish: ({ status, items, failedItems }) => events.push(`finish ${status} ${items} ${failedItems}`),
      onCancel: () => events.push('cancel'),
      ...options,
    },
  );
  (implementation.BatchedCompute as unknown as (call: FakeCall) => void)(call);
  return { call, events };
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
