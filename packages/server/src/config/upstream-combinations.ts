/** What is fine by itself and cannot be together, below `upstream` of a runner. */
import { parseUpstream, shownUrl, type UpstreamSettings } from '@batchwise/runners';
import type { ConfigProblem } from './config-error.js';
import type { LoadedConfig } from './loaded-config.js';
import { pathText } from './setting-path.js';

type TlsField = 'caFile' | 'certFile' | 'keyFile' | 'serverName';

const KEYS: Readonly<Record<TlsField, string>> = {
  caFile: 'ca_file',
  certFile: 'cert_file',
  keyFile: 'key_file',
  serverName: 'server_name',
};
type Problem = readonly [TlsField, message: string];

const FIELDS = Object.keys(KEYS) as TlsField[];

export function upstreamProblems(loaded: LoadedConfig): ConfigProblem[] {
  const { all, byName } = loaded.settings.runners;
  const runners = byName.size === 0 ? [undefined] : [...byName.keys()];
  const problems: ConfigProblem[] = [];
  for (const name of runners) {
    const own = name === undefined ? undefined : byName.get(name)?.upstream;
    const settings: Partial<UpstreamSettings> = { ...all.upstream, ...own };
    for (const [field, message] of [
      ...plainProblems(own ?? all.upstream, settings),
      ...pairProblems(settings),
    ]) {
      const path = placeOf(loaded, name, KEYS[field]);
      problems.push({ origin: loaded.origins.get(path), path, message });
    }
  }
  return problems;
}

/** What is set for all runners may be for others of them. */
function plainProblems(
  own: Partial<UpstreamSettings> = {},
  { url = [] }: Partial<UpstreamSettings>,
): Problem[] {
  const field = FIELDS.find((each) => own[each] !== undefined);
  const plain = url.find((each) => !parseUpstream(each).isTls);
  if (plain === undefined || field === undefined) return [];
  const expected = 'expected this only with grpcs://, grpcs-stream:// or https://';
  return [[field, `${expected}, got ${shownUrl(plain)}, which has no TLS.`]];
}

function pairProblems({ certFile, keyFile }: Partial<UpstreamSettings>): Problem[] {
  if ((certFile === undefined) === (keyFile === undefined)) return [];
  return certFile === undefined
    ? [['keyFile', 'expected cert_file as well, got none.']]
    : [['certFile', 'expected key_file as well, got none.']];
}

/** Where it is set: for the runner, or for all of them. */
function placeOf({ origins }: LoadedConfig, name: string | undefined, key: string): string {
  const own = name === undefined ? undefined : pathText(['runners', name, 'upstream', key]);
  return own !== undefined && origins.has(own) ? own : pathText(['runners', 'upstream', key]);
}
