/**
 * Loads the source of a worker that the argument of the command names. The modules of each kind are imported on demand,
 * because a service imports the whole server.
 */
import { type Availability, isUrl } from '@batchwise/runners';
import type { Handler, HandlerObject } from 'batchwise';
import { UsageFailure } from '../terminal/failure.js';
import type { BatchRule, WorkerOptions, WorkerSettings } from './worker-settings.js';

export interface WorkerSource {
  readonly handler: Handler<unknown, unknown> | HandlerObject<unknown, unknown>;
  /** Flags and environment override them. */
  readonly options: WorkerOptions;
  readonly rule: BatchRule | undefined;
  /** Of an upstream or a model: no items are taken from the queue during an outage. */
  readonly availability?: Availability | undefined;
  /** Releases its resources. */
  close(): Promise<void>;
}

/** Throws the message for the user if there is nothing to run. */
export async function loadWorkerSource(
  argument: string,
  queue: string,
  { options: asked, processes }: Pick<WorkerSettings, 'options' | 'processes'>,
  note: (line: string) => void,
): Promise<WorkerSource> {
  if (isUrl(argument)) {
    const { upstreamSource } = await import('./upstream-source.js');
    // Callers see the name in errors. They know the queue, not the upstream.
    return upstreamSource({ name: queue, upstream: { url: [argument] } }, asked, note);
  }
  if (argument.endsWith('.onnx')) {
    const { modelSource } = await import('./model-source.js');
    return modelSource({ name: argument, kind: 'onnx', file: argument }, asked, note);
  }
  const [, python, object] = /^(.*\.py)(?::(\w+))?$/.exec(argument) ?? [];
  if (python !== undefined) {
    const { modelSource } = await import('./model-source.js');
    return modelSource(
      { name: argument, kind: 'python', file: python, object, settings: processes },
      asked,
      note,
    );
  }
  const [, path, runner] = /^(.*\.[cm]?[jt]s)(?:#(.*))?$/.exec(argument) ?? [];
  if (path === undefined) {
    throw new UsageFailure(
      `${argument}: expected a module with a handler (handler.ts), a model (model.py, model.onnx), an upstream ` +
        "(grpc://host:port/model) or a service's runner (service.ts#runner).",
    );
  }
  if (runner === undefined) return (await import('./handler-source.js')).handlerSource(path);
  return (await import('./service-source.js')).serviceSource(path, runner, asked, note, processes);
}

/** A runner of a service may be one, which is known when the service is loaded. */
export function isPythonModel(argument: string): boolean {
  return /\.py(?::\w+)?$/.test(argument) || /\.[cm]?[jt]s#/.test(argument);
}
