/** Which rule a method falls under; the first that matches counts. */
import type { MethodSettings } from './method-options.js';

export class MethodTable {
  readonly #rules: readonly MethodSettings[];

  constructor(rules: readonly MethodSettings[]) {
    this.#rules = rules;
  }

  /** The rule for a path as callers send it; undefined when the method is to be passed through. */
  ruleOf(path: string): MethodSettings | undefined {
    return this.#rules.find(({ method }) => matches(method, path));
  }
}

function matches(pattern: string, path: string): boolean {
  if (!pattern.startsWith('*')) return pattern === path;
  // A path of gRPC has two parts: '*' stands for one service, not for part of a longer path.
  const method = pattern.slice(1);
  const end = path.length - method.length;
  return end > 1 && path.startsWith('/') && path.endsWith(method) && path.indexOf('/', 1) === end;
}

/** The path of the streaming method that stands for a unary one. */
export function batchedPathOf(path: string, { batched }: MethodSettings): string {
  if (batched?.startsWith('/')) return batched;
  const service = path.slice(0, path.lastIndexOf('/') + 1);
  return service + (batched ?? `Batched${path.slice(service.length)}`);
}
