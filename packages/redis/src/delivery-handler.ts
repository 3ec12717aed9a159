/** The user's handler, as it is called with what was delivered. */
import { type BatchContext, BatchwiseError, type Handler, type HandlerObject } from 'batchwise';
import type { Delivery } from './delivery.js';

export interface DeliveryHandlerOptions<I> {
  /** What the user calls the group of an item; undefined where there are none. */
  readonly groupOf: ((item: I) => unknown) | undefined;
  /** These are being run from now on. */
  readonly onStart: (deliveries: readonly Delivery<I>[], context: BatchContext) => void;
  /** The batcher has heard of the results; not called where it has before this returns. */
  readonly onResults: () => void;
}

export function deliveryHandler<I, R>(
  handler: Handler<I, R> | HandlerObject<I, R>,
  { groupOf, onStart, onResults }: DeliveryHandlerOptions<I>,
): Handler<Delivery<I>, R> {
  const run = typeof handler === 'function' ? handler : handler?.processBatch?.bind(handler);
  if (typeof run !== 'function') {
    throw new BatchwiseError(
      'INVALID_OPTION',
      'handler: expected a function (items, context) => results, or an object with processBatch().',
    );
  }
  return (deliveries, context) => {
    onStart(deliveries, context);
    const items = deliveries.map(({ item }) => item as I);
    const isSuspect = deliveries[0]?.suspicion !== undefined;
    const returned = run(items, isSuspect ? withGroup(context, groupOf?.(items[0] as I)) : context);
    if (Array.isArray(returned)) return returned;
    const results = Promise.resolve(returned);
    // After the batcher has heard of them.
    const heard = () => queueMicrotask(onResults);
    results.then(heard, heard);
    return results;
  };
}

/** What is kept apart for reasons of our own is of the user's group all the same. */
function withGroup(context: BatchContext, group: unknown): BatchContext {
  const { signal, name, size, cost, paddedCost, reason, oldestWaitMs, answered } = context;
  return {
    ...{ signal, name, size, cost, paddedCost, reason, oldestWaitMs, answered, group },
    answer: (index, result) => context.answer(index, result),
    onGone: (listener) => context.onGone(listener),
  };
}
