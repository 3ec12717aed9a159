/** Where a value comes from, and how that is told. */
export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'environment'; readonly variable: string }
  | { readonly kind: 'flag'; readonly flag: string };

export const DEFAULT_ORIGIN: Origin = { kind: 'default' };

export function originText(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return 'default';
    case 'file':
      return `${origin.file}:${origin.line}:${origin.column}`;
    case 'environment':
      return origin.variable;
    case 'flag':
      return origin.flag;
  }
}
