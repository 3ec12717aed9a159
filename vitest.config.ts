import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // Tests run on the sources: no build in between, and stack traces that can be read.
  resolve: {
    alias: {
      '@batchwise/arena': source('./packages/arena/src/index.ts'),
      '@batchwise/dashboard': source('./packages/dashboard/src/index.ts'),
      '@batchwise/grpc': source('./packages/grpc/src/index.ts'),
      '@batchwise/load': source('./packages/load/src/index.ts'),
      '@batchwise/metrics': source('./packages/metrics/src/index.ts'),
      '@batchwise/proxy': source('./packages/proxy/src/index.ts'),
      '@batchwise/redis': source('./packages/redis/src/index.ts'),
      '@batchwise/runners': source('./packages/runners/src/index.ts'),
      '@batchwise/server': source('./packages/server/src/index.ts'),
      '@batchwise/aws': source('./packages/integrations/aws/src/index.ts'),
      '@batchwise/dataloader': source('./packages/integrations/dataloader/src/index.ts'),
      '@batchwise/dynamodb': source('./packages/integrations/dynamodb/src/index.ts'),
      '@batchwise/elasticsearch': source('./packages/integrations/elasticsearch/src/index.ts'),
      '@batchwise/embeddings': source('./packages/integrations/embeddings/src/index.ts'),
      '@batchwise/fetch': source('./packages/integrations/fetch/src/index.ts'),
      '@batchwise/kafka': source('./packages/integrations/kafka/src/index.ts'),
      '@batchwise/postgres': source('./packages/integrations/postgres/src/index.ts'),
      '@batchwise/rabbitmq': source('./packages/integrations/rabbitmq/src/index.ts'),
      '@batchwise/redis-commands': source('./packages/integrations/redis-commands/src/index.ts'),
      '@batchwise/sns': source('./packages/integrations/sns/src/index.ts'),
      '@batchwise/sqs': source('./packages/integrations/sqs/src/index.ts'),
      'batchwise/internal': source('./packages/core/src/internal.ts'),
      batchwise: source('./packages/core/src/index.ts'),
    },
  },
  test: {
    setupFiles: ['./test/support/property-seed.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/**/test/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/system/**', '**/nightly/**'],
          // On a busy machine nothing is quick: a test fails by what it sees, not by how long it took.
          testTimeout: 600_000,
          // They leave nothing behind, so they can share threads: a new one for each file takes longer than its tests.
          pool: 'threads',
          isolate: false,
          maxWorkers: '100%',
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['packages/**/test/system/**/*.test.ts', 'test/system/**/*.test.ts'],
          // For what hangs. What a test waits for by name is given up after half of it, and then named.
          testTimeout: 600_000,
          hookTimeout: 600_000,
          // Each file has ports, folders and processes of its own, and waits for them much of the time: two workers
          // more than there are cores (with six on two cores, a run takes as long). Files share workers, because
          // importing the sources again for each file takes a minute in all.
          // After the unit tests, which have another number of workers.
          maxWorkers: availableParallelism() + 2,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          // Long versions of system tests: chaos, hostile input, fuzzing, soak. `npm run test:nightly`.
          name: 'nightly',
          // See scripts/test-length.js.
          env: { TEST_LENGTH: 'long' },
          include: ['packages/**/test/nightly/**/*.test.ts', 'test/nightly/**/*.test.ts'],
          testTimeout: 1_800_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
