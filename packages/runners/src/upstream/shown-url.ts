/**
 * A URL as logs and errors may show it: scheme, host and path. What comes before an @ or after a ? may be a secret.
 */
export function shownUrl(text: string): string {
  const [, scheme = '', , rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)/i.exec(text) ?? [];
  return `${scheme}${rest}`.slice(0, 200);
}
