/**
 * Single ids into requests for many rows.
 *
 *     import { batchedFetch } from '@batchwise/fetch';
 *
 *     const users = batchedFetch({
 *       url: (ids: readonly number[]) => `http://localhost:3000/users?ids=${ids}`,
 *       keyOf: (user: { id: number; name: string }) => user.id,
 *     });
 *     console.log(await Promise.all([users.submit(1), users.submit(2)])); // one request: GET /users?ids=1,2
 *     await users.close();
 */

export { type BatchedFetchOptions, batchedFetch, type Id } from './batched-fetch.js';
export { MissingRowError } from './match-rows.js';
export {
  type Fetch,
  type HttpAnswer,
  type RejectedRequest,
  type RequestJsonOptions,
  requestJson,
  type StatusOptions,
  statusError,
} from './request-json.js';
