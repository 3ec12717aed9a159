/** The stages of the service, each one with what `batchwise serve` is told. */

export interface Stage {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const UNBATCHED = { BATCHWISE__RUNNERS__CREDIT__BATCHING__ENABLED: 'false' };

export const STAGES: readonly Stage[] = [
  { name: 'blocking', args: ['blocking-service.ts'], env: {} },
  { name: 'async', args: ['service.ts'], env: UNBATCHED },
  {
    // As when whole processes are replicated: each of them has a copy of the model.
    name: '2 workers, 2 models',
    args: ['service.ts', '--workers', '2'],
    env: { ...UNBATCHED, BATCHWISE__RUNNERS__CREDIT__REPLICAS: '2' },
  },
  { name: 'batching', args: ['service.ts'], env: {} },
  { name: '2 workers, batching', args: ['service.ts', '--workers', '2'], env: {} },
];
