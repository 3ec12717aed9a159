/**
 * Serves calls of a batched method. A stream from a proxy is one batch: items up to the half-close, then one answer per
 * item in the same order, with backpressure. A unary call without a proxy is a batch of one.
 */
import { ITEM_ERROR_HEADER } from '@batchwise/grpc';
import type { Metadata, ServerDuplexStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { BatchedCall, type ServedMethod } from './batched-call.js';
import { batchedStatus, formatItemErrors, type ItemError } from './batched-errors.js';
import type { BatchedResults } from './batched-options.js';

type DuplexCall = ServerDuplexStream<unknown, unknown>;
type UnaryCall = ServerUnaryCall<unknown, unknown>;

export function serveStream(method: ServedMethod, call: DuplexCall): void {
  const batch = new BatchedCall(method, call);
  call.on('data', (item: unknown) => {
    if (batch.isEnded) return;
    try {
      batch.receive(item);
    } catch (error) {
      fail(call, batch, error);
    }
  });
  call.on('end', () => {
    if (!batch.isEnded) void run(method, call, batch);
  });
}

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
    const error = serializationError(method, result, 0);
    if (error !== undefined) throw error;
    batch.finish(0);
    callback(null, result);
  } catch (error) {
    if (batch.isEnded) return;
    const { code, details, metadata } = batchedStatus(error);
    batch.fail(error);
    callback({ code, details, ...(metadata === undefined ? {} : { metadata }) });
  }
}

async function run(method: ServedMethod, call: DuplexCall, batch: BatchedCall): Promise<void> {
  try {
    const results = batch.itemCount === 0 ? [] : await batch.execute();
    if (!batch.isEnded) answer(method, call, batch, results);
  } catch (error) {
    fail(call, batch, error);
  }
}

function answer(
  method: ServedMethod,
  call: DuplexCall,
  batch: BatchedCall,
  returned: BatchedResults<unknown>,
): void {
  const results = method.checksAnswers ? checked(method, returned) : returned;
  const errors = itemErrors(results);
  const messages = errors.length > 0 ? withoutErrors(results, method.emptyAnswer()) : results;
  if (errors.length > 0) call.sendMetadata(headerOf(call, errors));
  let sent = 0;
  // @grpc/grpc-js ends the call without a callback if it cannot serialize a message, and later items get no answer. Answers
  // are checked only after the first such failure: the check costs as much as sending the answer.
  batch.sending(() => {
    const error = serializationError(method, messages[sent], sent);
    if (error !== undefined) method.checksAnswers = true;
    return error;
  });
  const end = () => {
    if (batch.isEnded) return;
    call.end();
    batch.finish(errors.length);
  };
  if (messages.length === 0) end();
  else {
    writeAll(call, messages, batch, () => {
      sent += 1;
      if (sent === messages.length) end();
    });
  }
}

function checked(method: ServedMethod, results: BatchedResults<unknown>): BatchedResults<unknown> {
  return results.map((result, index) =>
    result instanceof Error ? result : (serializationError(method, result, index) ?? result),
  );
}

/** Calls `onSent` for each message that was written. */
function writeAll(
  call: DuplexCall,
  messages: readonly unknown[],
  batch: BatchedCall,
  onSent: () => void,
): void {
  let next = 0;
  const write = () => {
    while (next < messages.length && !batch.isEnded) {
      const hasRoom = call.write(messages[next], onSent);
      next += 1;
      if (!hasRoom && next < messages.length) {
        call.once('drain', write);
        return;
      }
    }
  };
  write();
}

function withoutErrors(results: BatchedResults<unknown>, placeholder: unknown): unknown[] {
  return results.map((result) => (result instanceof Error ? placeholder : result));
}

function itemErrors(results: BatchedResults<unknown>): ItemError[] {
  return results.flatMap((result, index) => {
    if (!(result instanceof Error)) return [];
    const { code, details } = batchedStatus(result);
    return { index, status: code, message: details };
  });
}

function headerOf(call: DuplexCall, errors: readonly ItemError[]): Metadata {
  const entries = formatItemErrors(errors);
  if (entries === undefined) {
    const message = `${errors.length} items failed, more than fit in the header ${ITEM_ERROR_HEADER}.`;
    throw new BatchwiseError('HANDLER_FAILED', message, { cause: errors });
  }
  // The class of the call's own metadata: @grpc/grpc-js is optional, and there may be two copies of it.
  const metadata = new (call.metadata.constructor as typeof Metadata)();
  metadata.set(ITEM_ERROR_HEADER, entries);
  return metadata;
}

/** An 'error' event sets the status of the stream in @grpc/grpc-js and ends it. */
function fail(call: DuplexCall, batch: BatchedCall, error: unknown): void {
  if (batch.isEnded) return;
  const { code, details, metadata } = batchedStatus(error);
  call.emit('error', Object.assign(new Error(details), { code, details, metadata }));
  batch.fail(error);
}

/** The error of an item whose result cannot be serialized. Checked before sending, because @grpc/grpc-js would end the whole call. */
export function serializationError(
  { name, serialize }: Pick<ServedMethod, 'name' | 'serialize'>,
  result: unknown,
  index: number,
): BatchwiseError | undefined {
  try {
    serialize(result);
    return undefined;
  } catch (cause) {
    const message = `"${name}" returned a result for item ${index} that cannot be serialized: ${batchedStatus(cause).details}`;
    return new BatchwiseError('BAD_RESULT', message, { cause });
  }
}
