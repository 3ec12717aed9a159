/**
 * A batch as it comes from a proxy: a stream of items up to the half-close, then as many answers in the same
 * order, written no faster than they are read.
 */
import { ITEM_ERROR_HEADER } from '@batchwise/grpc';
import type { Metadata, ServerDuplexStream } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { whyUnsendable } from './batched-answer.js';
import { BatchedCall, type ServedMethod } from './batched-call.js';
import { formatItemErrors, type ItemError } from './batched-item-errors.js';
import type { BatchedResults } from './batched-method.js';
import { batchedStatus } from './batched-status.js';

type DuplexCall = ServerDuplexStream<unknown, unknown>;

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
  const results = method.triesAnswers ? tried(method, returned) : returned;
  const errors = itemErrors(results);
  const messages = errors.length > 0 ? withoutErrors(results, method.emptyAnswer()) : results;
  if (errors.length > 0) call.sendMetadata(headerOf(call, errors));
  let sent = 0;
  // What @grpc/grpc-js cannot send ends the call without a word to those who wait for the write. Those behind it go
  // without an answer this time: trying each beforehand takes as long as sending it, and hardly anybody needs that.
  batch.sends(() => {
    const fault = whyUnsendable(method, messages[sent], sent);
    if (fault !== undefined) method.triesAnswers = true;
    return fault;
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

function tried(method: ServedMethod, results: BatchedResults<unknown>): BatchedResults<unknown> {
  return results.map((result, index) =>
    result instanceof Error ? result : (whyUnsendable(method, result, index) ?? result),
  );
}

/** Calls back for each that has left. */
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
    const message = `${errors.length} items failed, more than the header ${ITEM_ERROR_HEADER} can tell one by one.`;
    throw new BatchwiseError('HANDLER_FAILED', message, { cause: errors });
  }
  // By the class that is at hand: this package works without @grpc/grpc-js, and there may be two copies of it.
  const metadata = new (call.metadata.constructor as typeof Metadata)();
  metadata.set(ITEM_ERROR_HEADER, entries);
  return metadata;
}

/** This is how @grpc/grpc-js is told the status of a stream; it ends it, too. */
function fail(call: DuplexCall, batch: BatchedCall, error: unknown): void {
  if (batch.isEnded) return;
  const { code, details, metadata } = batchedStatus(error);
  call.emit('error', Object.assign(new Error(details), { code, details, metadata }));
  batch.fail(error);
}
