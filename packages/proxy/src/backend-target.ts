/** Where a backend is, as the user writes it. */
import { expected, validText } from './valid-option.js';

export interface BackendTarget {
  /** As it was written. */
  readonly text: string;
  /** `fixed`: one backend; `dns`: one for each address of the name. */
  readonly kind: 'fixed' | 'dns';
  /** Of a name to be looked up. */
  readonly name: string;
  readonly port: number;
}

const DNS = 'dns:///';

export function parseTarget(where: string, value: unknown): BackendTarget {
  const text = validText(where, value);
  if (text.startsWith('unix:') && text.length > 'unix:'.length) {
    return { text, kind: 'fixed', name: '', port: 0 };
  }
  const isDns = text.startsWith(DNS);
  const found = /^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]@?#]+):(\d{1,5})$/.exec(isDns ? text.slice(DNS.length) : text);
  const port = Number(found?.[2]);
  if (found?.[1] === undefined || port < 1 || port > 65_535) {
    throw expected(where, "'host:port', '[address]:port', 'unix:/path' or 'dns:///name:port'", value);
  }
  return { text, kind: isDns ? 'dns' : 'fixed', name: found[1], port };
}

/** `host:port` of an address that a name stands for. */
export function targetOfAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
