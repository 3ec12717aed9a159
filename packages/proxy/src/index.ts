/**
 * A gRPC batching proxy: any unary method in, one stream per batch out.
 *
 *     import { startProxy } from '@batchwise/proxy';
 *
 *     const proxy = await startProxy({
 *       targets: ['localhost:50051'],
 *       methods: [{ method: '/pkg.Service/Compute', maxBatchSize: 8, maxWaitMs: 2 }],
 *     });
 *     console.log(proxy.address); // clients call /pkg.Service/Compute here; the backend gets BatchedCompute
 *     await proxy.close();
 */
export type { AdminAddress } from './admin/admin-server.js';
export type { TenantBy } from './batching/tenants.js';
export type { GroupByOptions, MethodOptions } from './options/method-options.js';
export type { EjectionOptions, HealthCheckOptions, ProxyOptions } from './options/proxy-options.js';
export { startProxy } from './proxy.js';
export type {
  BackendStats,
  DrainOptions,
  ProxyAddress,
  ProxyStats,
  RunningProxy,
} from './running-proxy.js';
export type {
  BatchEnd,
  BatchedContext,
  BatchedMethod,
  BatchedMethods,
  BatchedResults,
  ServeBatchedOptions,
} from './serve-batched/batched-options.js';
export { serveBatched } from './serve-batched/serve-batched.js';
