/** A unary call of a batched method, by whoever comes without a proxy: a batch of one. */
import type { ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { whyUnsendable } from './batched-answer.js';
import { BatchedCall, type ServedMethod } from './batched-call.js';
import { batchedStatus } from './batched-status.js';

type UnaryCall = ServerUnaryCall<unknown, unknown>;

export async function serveUnary(
  method: ServedMethod,
  call: UnaryCall,
  callback: sendUnaryData<unknown>,
): Promise<void> {
  const batch = new BatchedCall(method, call);
  try {
    batch.receive(call.request);
    const [result] = await batch.execute();
    if (batch.isEnded) return;
    if (result instanceof Error) throw result;
    const fault = whyUnsendable(method, result, 0);
    if (fault !== undefined) throw fault;
    batch.finish(0);
    callback(null, result);
  } catch (error) {
    if (batch.isEnded) return;
    const { code, details, metadata } = batchedStatus(error);
    batch.fail(error);
    callback({ code, details, ...(metadata === undefined ? {} : { metadata }) });
  }
}
