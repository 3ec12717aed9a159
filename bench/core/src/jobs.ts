/**
 * The jobs, each of which runs in its own process. A job is a module with a function `run(params)` whose parameters
 * and result can be serialized as JSON.
 */
const jobs = {
  cancel: () => import('./jobs/cancel.js'),
  decide: () => import('./jobs/decide.js'),
  depth: () => import('./jobs/depth.js'),
  idle: () => import('./jobs/idle.js'),
  memory: () => import('./jobs/memory.js'),
  path: () => import('./jobs/path.js'),
  turnAlone: () => import('./jobs/turn-alone.js'),
  turnSockets: () => import('./jobs/turn-sockets.js'),
};

export type JobName = keyof typeof jobs;

type Run<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>['run'];
export type ParamsOf<Name extends JobName> = Parameters<Run<Name>>[0];
export type ResultOf<Name extends JobName> = Awaited<ReturnType<Run<Name>>>;

export async function runHere(name: string, params: unknown): Promise<unknown> {
  if (!Object.hasOwn(jobs, name)) throw new TypeError(`unknown job '${name}'`);
  const { run } = await jobs[name as JobName]();
  return (run as (params: unknown) => Promise<unknown>)(params);
}
