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
export type { AdminAddress } from './admin-server.js';
export type { BatchedContext, BatchedMethod, BatchedMethods, BatchedResults } from './batched-method.js';
export type { BatchEnd, ServeBatchedOptions } from './batched-options.js';
export type { GroupByOptions, MethodOptions } from './method-options.js';
export { startProxy } from './proxy.js';
export type { EjectionOptions, HealthCheckOptions, ProxyOptions } from './proxy-options.js';
export type {
  BackendStats,
  DrainOptions,
  ProxyAddress,
  ProxyStats,
  RunningProxy,
} from './running-proxy.js';
export { serveBatched } from './serve-batched.js';
export type { TenantBy } from './tenants.js';
