/** The short flags of dynamic_batcher's command. They have two letters, which commander does not accept. */
const LONG: Readonly<Record<string, string>> = { '-bs': '--batch-size', '-bt': '--batch-time' };

/** Replaces the short flags before `--`. */
export function withLongFlags(args: readonly string[]): string[] {
  if (args[0] !== 'worker') return [...args];
  const end = args.indexOf('--');
  return args.map((arg, i) => (end >= 0 && i > end ? arg : (LONG[arg] ?? arg)));
}
