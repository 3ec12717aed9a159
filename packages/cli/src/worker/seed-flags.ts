/** The short flags of dynamic_batcher's command. They have two letters, which no parser of today's takes. */
const LONG: Readonly<Record<string, string>> = { '-bs': '--batch-size', '-bt': '--batch-time' };

/** The arguments as the parser takes them. What follows `--` is no flag. */
export function withLongFlags(args: readonly string[]): string[] {
  if (args[0] !== 'worker') return [...args];
  const end = args.indexOf('--');
  return args.map((arg, i) => (end >= 0 && i > end ? arg : (LONG[arg] ?? arg)));
}
