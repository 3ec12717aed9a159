import type { Registry } from './registry.js';

export function buildInfo(registry: Registry, version: string): void {
  const info = registry.gauge({
    name: 'batchwise_build_info',
    help: 'Always 1; the label is the running version.',
    labels: ['version'],
    rule: 'max',
  });
  info.labels(version).set(1);
}
