/**
 * A URL as logs and errors may show it: scheme, host and path. User information and query strings are removed because
 * they may contain secrets.
 */
export function shownUrl(text: string): string {
  const [, scheme = '', , rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)/i.exec(text) ?? [];
  return `${scheme}${rest}`.slice(0, 200);
}
