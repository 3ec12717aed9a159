import { copyProblem, parseUpstream, UPSTREAM_FORMS } from '@batchwise/runners';
import { accept, type Kind, refuse } from '../setting-kind.js';
import { isFitText } from './text-kinds.js';

const EXPECTED = `${UPSTREAM_FORMS}, or a list of them`;

/** One, or copies of one. None is an empty list. */
export const upstreamUrls: Kind<readonly string[]> = {
  expected: EXPECTED,
  label: 'a URL, or a list of them',
  isList: true,
  parse(value) {
    if (value === null) return accept(Object.freeze([]));
    const urls: unknown[] = Array.isArray(value) ? value : [value];
    for (const [i, url] of urls.entries()) {
      const at = Array.isArray(value) ? [i] : [];
      if (!isFitText(url)) return refuse(EXPECTED, url, at);
      const wrong = whyNot(url);
      if (wrong !== undefined) return { complaints: [{ at, message: wrong }] };
    }
    const problem = copyProblem((urls as string[]).map(parseUpstream));
    if (problem !== undefined) return { complaints: [{ at: [problem.index], message: problem.message }] };
    return accept(Object.freeze(urls as string[]));
  },
  write: (urls) => (urls.length === 1 ? (urls[0] as string) : urls),
};

function whyNot(url: string): string | undefined {
  try {
    parseUpstream(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
