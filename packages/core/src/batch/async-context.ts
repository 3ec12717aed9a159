/**
 * Calls a function in the async context that was current when this module was loaded. A batch belongs
 * to no single request: run in the context of whichever request happened to start it, its handler
 * would log, trace and authorise in that request's name, and keep it alive.
 */
export const inOwnContext: <A>(call: (argument: A) => void, argument: A) => void = ownContext();

function ownContext(): <A>(call: (argument: A) => void, argument: A) => void {
  // Not an import: a bundler for the browser would trip over it.
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } };
  const hooks = process?.getBuiltinModule?.('node:async_hooks') as
    | { AsyncLocalStorage: { snapshot?: () => <A>(call: (argument: A) => void, argument: A) => void } }
    | undefined;
  return hooks?.AsyncLocalStorage.snapshot?.() ?? ((call, argument) => call(argument));
}
