/** Settings of the proxy in the environment: `BATCHWISE__PROXY__MAX_BATCH_SIZE=8`. */
import { type ConfigProblem, type Origin, valueOfText } from '@batchwise/server';
import { nearestWord } from 'batchwise';
import type { Terminal } from '../terminal/terminal.js';
import { sameSetting } from './proxy-map.js';
import { PROXY_SETTINGS } from './proxy-schema.js';
import type { ProxyField } from './proxy-settings.js';
import type { Given, ProxySource } from './proxy-source.js';

const PREFIX = 'BATCHWISE__PROXY__';
/**
 * Matches also names with a missing underscore, which would otherwise be ignored. Names with single underscores only are
 * ignored: Kubernetes sets BATCHWISE_PROXY_PORT if a service is called batchwise-proxy.
 */
const BEGINNING = /^BATCHWISE(?:__PROXY(?:_+|$)|_PROXY__+)/i;

export function proxyVariable(key: string): string {
  return PREFIX + key.toUpperCase();
}

export function proxyEnvironment(env: Terminal['env']): ProxySource {
  const given = new Map<ProxyField, Given & { readonly variable: string }>();
  const problems: ConfigProblem[] = [];
  for (const variable of Object.keys(env).sort()) {
    const text = env[variable];
    // An empty variable counts as not set, as in scripts and Compose files.
    if (text === undefined || text === '') continue;
    const origin: Origin = { kind: 'environment', variable };
    const report = (message: string) => problems.push({ origin, path: '', message });
    const slip = BEGINNING.exec(variable)?.[0];
    if (slip === undefined) continue;
    const setting = PROXY_SETTINGS.find(({ key }) => proxyVariable(key) === variable.toUpperCase());
    if (setting === undefined) {
      report(`unknown variable.${hintAt(variable.slice(slip.length))}`);
      continue;
    }
    const { field, kind } = setting;
    const other = given.get(field);
    if (other !== undefined) report(sameSetting(other.variable));
    const verdict = kind.parse(valueOfText(text, kind), { folder: '' });
    if ('value' in verdict) given.set(field, { value: verdict.value, origin, variable });
    else for (const { message } of verdict.complaints) report(message);
  }
  return { given, problems };
}

/** Compares without the common prefix, because with it all names would be similar. */
function hintAt(word: string): string {
  const meant = nearestWord(
    word,
    PROXY_SETTINGS.map(({ key }) => key),
  );
  return meant === undefined ? '' : ` Did you mean ${proxyVariable(meant)}?`;
}
