/** YAIS's spelling, `--max_batch_size=8`, and everybody's, `--max-batch-size 8`. What follows `--` is no flag. */
export function withDashes(args: readonly string[]): string[] {
  if (args[0] !== 'proxy') return [...args];
  const end = args.indexOf('--');
  return args.map((arg, i) =>
    end >= 0 && i > end ? arg : arg.replace(/^--[a-z][a-z_-]*/, (flag) => flag.replaceAll('_', '-')),
  );
}
