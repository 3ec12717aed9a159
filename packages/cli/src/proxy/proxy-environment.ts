/** What the environment says of the proxy: `BATCHWISE__PROXY__MAX_BATCH_SIZE=8`. */
import { type ConfigProblem, type Origin, valueOfText } from '@batchwise/server';
import { nearestWord } from 'batchwise';
import type { Terminal } from '../terminal/terminal.js';
import { sameSetting } from './proxy-map.js';
import { PROXY_SETTINGS } from './proxy-schema.js';
import type { ProxyField } from './proxy-settings.js';
import type { ProxySource, Said } from './proxy-source.js';

const PREFIX = 'BATCHWISE__PROXY__';
/**
 * One underscore too few would otherwise be passed over in silence. Single ones alone are the platform's: Kubernetes sets
 * BATCHWISE_PROXY_PORT wherever a service is called batchwise-proxy.
 */
const BEGINNING = /^BATCHWISE(?:__PROXY(?:_+|$)|_PROXY__+)/i;

export function proxyVariable(key: string): string {
  return PREFIX + key.toUpperCase();
}

export function proxyEnvironment(env: Terminal['env']): ProxySource {
  const said = new Map<ProxyField, Said & { readonly variable: string }>();
  const problems: ConfigProblem[] = [];
  for (const variable of Object.keys(env).sort()) {
    const text = env[variable];
    // An empty variable is how a script or a compose file says that it has nothing to say.
    if (text === undefined || text === '') continue;
    const origin: Origin = { kind: 'environment', variable };
    const complain = (message: string) => problems.push({ origin, path: '', message });
    const slip = BEGINNING.exec(variable)?.[0];
    if (slip === undefined) continue;
    const setting = PROXY_SETTINGS.find(({ key }) => proxyVariable(key) === variable.toUpperCase());
    if (setting === undefined) {
      complain(`unknown variable.${hintAt(variable.slice(slip.length))}`);
      continue;
    }
    const { field, kind } = setting;
    const other = said.get(field);
    if (other !== undefined) complain(sameSetting(other.variable));
    const verdict = kind.parse(valueOfText(text, kind), { folder: '' });
    if ('value' in verdict) said.set(field, { value: verdict.value, origin, variable });
    else for (const { message } of verdict.complaints) complain(message);
  }
  return { said, problems };
}

/** By what comes behind the beginning, which all have: with it, every word would be near some other. */
function hintAt(word: string): string {
  const meant = nearestWord(
    word,
    PROXY_SETTINGS.map(({ key }) => key),
  );
  return meant === undefined ? '' : ` Did you mean ${proxyVariable(meant)}?`;
}
