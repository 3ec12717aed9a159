/** What is fine by itself and cannot be together. */
import type { ConfigProblem } from '@batchwise/server';
import { DEFAULT_ADMIN_PORT, DEFAULT_PORT } from './proxy-door-settings.js';
import type { LoadedProxy } from './proxy-load.js';
import { PROXY_SETTINGS } from './proxy-schema.js';
import type { ProxyField } from './proxy-settings.js';

/** One that is said, and what must be said with it. */
const NEEDS: readonly (readonly [said: ProxyField, needed: ProxyField])[] = [
  ['tlsCert', 'tlsKey'],
  ['tlsKey', 'tlsCert'],
  ['tlsClientCa', 'tlsCert'],
  ['backendCert', 'backendKey'],
  ['backendKey', 'backendCert'],
];

const OF_BACKEND_TLS: readonly ProxyField[] = ['backendCa', 'backendCert', 'backendKey', 'backendServerName'];

export function proxyCombinations(loaded: LoadedProxy): ConfigProblem[] {
  const { settings, origins } = loaded;
  const problemOf = (field: ProxyField, message: string): ConfigProblem => ({
    origin: origins.get(field),
    path: keyOf(field),
    message,
  });
  const problems = NEEDS.filter(([said, needed]) => origins.has(said) && !origins.has(needed)).map(
    ([said, needed]) => problemOf(said, `expected ${wordOf(needed, loaded, said)} with it, got none.`),
  );
  if (settings.backendTls === false)
    for (const field of OF_BACKEND_TLS.filter((each) => origins.has(each)))
      problems.push(problemOf(field, `expected backend_tls to be true with it, got false.`));
  const { port = DEFAULT_PORT, adminPort = DEFAULT_ADMIN_PORT } = settings;
  if (port !== 0 && port === adminPort)
    problems.push(
      problemOf(
        origins.has('adminPort') ? 'adminPort' : 'port',
        `expected another port for HTTP than for calls, got ${port} for both.`,
      ),
    );
  return problems;
}

/** In the words of where the other one was said. */
function wordOf(field: ProxyField, { origins }: LoadedProxy, beside: ProxyField): string {
  const key = keyOf(field);
  return origins.get(beside)?.kind === 'flag' ? `--${key.replaceAll('_', '-')}` : key;
}

function keyOf(field: ProxyField): string {
  return PROXY_SETTINGS.find((setting) => setting.field === field)?.key ?? field;
}
