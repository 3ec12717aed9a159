/** Checks of settings that depend on each other. */
import type { ConfigProblem } from '@batchwise/server';
import { DEFAULT_ADMIN_PORT, DEFAULT_PORT } from './proxy-listen-settings.js';
import type { LoadedProxy } from './proxy-load.js';
import { PROXY_SETTINGS } from './proxy-schema.js';
import type { ProxyField } from './proxy-settings.js';

/** A setting, and the setting that it requires. */
const NEEDS: readonly (readonly [given: ProxyField, needed: ProxyField])[] = [
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
  const problems = NEEDS.filter(([given, needed]) => origins.has(given) && !origins.has(needed)).map(
    ([given, needed]) => problemOf(given, `requires ${nameOf(needed, loaded, given)}.`),
  );
  if (settings.backendTls === false)
    for (const field of OF_BACKEND_TLS.filter((each) => origins.has(each)))
      problems.push(problemOf(field, 'requires backend_tls: true.'));
  const { port = DEFAULT_PORT, adminPort = DEFAULT_ADMIN_PORT } = settings;
  if (port !== 0 && port === adminPort)
    problems.push(
      problemOf(
        origins.has('adminPort') ? 'adminPort' : 'port',
        `expected different ports for HTTP and gRPC, got ${port} for both.`,
      ),
    );
  return problems;
}

/** The name of the setting, as a flag if the other one is a flag. */
function nameOf(field: ProxyField, { origins }: LoadedProxy, other: ProxyField): string {
  const key = keyOf(field);
  return origins.get(other)?.kind === 'flag' ? `--${key.replaceAll('_', '-')}` : key;
}

function keyOf(field: ProxyField): string {
  return PROXY_SETTINGS.find((setting) => setting.field === field)?.key ?? field;
}
