import { isIP } from 'node:net';

/** Where a channel connects to. */
export type TargetAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly authority: string }
  | { readonly kind: 'unix'; readonly path: string; readonly authority: string };

/** `host:port`, `[::1]:50051` or `unix:/path`. */
export function parseTarget(target: string): TargetAddress {
  if (target.startsWith('unix:')) {
    const path = target.slice('unix:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '') throw invalidTarget(target);
    return { kind: 'unix', path, authority: 'localhost' };
  }
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.]+)?)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(target);
  if (match === null) throw invalidTarget(target);
  const host = (match[1] ?? match[2]) as string;
  const port = Number(match[3]);
  if (port < 1 || port > 65_535 || (match[1] !== undefined && isIP(host) !== 6)) throw invalidTarget(target);
  return { kind: 'tcp', host, port, authority: target };
}

function invalidTarget(target: string): TypeError {
  return new TypeError(`expected a target 'host:port', '[ipv6]:port' or 'unix:/path', got '${target}'`);
}
