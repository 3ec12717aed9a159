/** Runs a function in an async context that was current earlier. */
export type RunInContext = <T>(call: () => T) => T;

interface AsyncHooks {
  readonly AsyncResource: new (type: string) => { runInAsyncScope: RunInContext };
}

/**
 * The current async context. The batcher calls its handler in the context of no request, because its batches belong to
 * none. A loader usually belongs to one request, and batch functions for DataLoader rely on its `AsyncLocalStorage`.
 */
export const currentContext: () => RunInContext = findContext();

function findContext(): () => RunInContext {
  // Not an import: bundlers for browsers would not find the module.
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  const hooks = process?.getBuiltinModule?.('node:async_hooks') as AsyncHooks | undefined;
  if (hooks === undefined) return () => (call) => call();
  return () => {
    const resource = new hooks.AsyncResource('BATCHWISE_DATALOADER');
    return (call) => resource.runInAsyncScope(call);
  };
}
