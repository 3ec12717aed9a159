import { copyProblem, parseUpstream, shownUrl } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import type { UpstreamDeclaration } from './runner-declaration.js';
import { type RunnerOptions, validRunnerOptions } from './runner-options.js';

/**
 * An upstream as a runner: a model behind the Open Inference Protocol, or a function over items. Several URLs are
 * copies of one backend. The type parameters are the types of an item and of its result:
 *
 *     minilm: upstream<number[], number[]>('grpc://gpu:8001/minilm', { batchable: true })
 */
export function upstream<Item = unknown, Result = unknown>(
  url: string | readonly string[],
  options: RunnerOptions = {},
): UpstreamDeclaration<Item, Result> {
  const urls = typeof url === 'string' ? [url] : url;
  const shown = typeof url === 'string' ? shownUrl(url) : urls.map((each) => shownUrl(String(each)));
  const where = `upstream(${JSON.stringify(shown)}, options)`;
  const settings = validRunnerOptions(where, { ...options, upstream: { ...options.upstream, url: urls } });
  const problem = copyProblem(urls.map(parseUpstream));
  if (problem !== undefined) throw new BatchwiseError('INVALID_OPTION', `${where}: ${problem.message}`);
  return Object.freeze({ kind: 'upstream' as const, settings });
}
