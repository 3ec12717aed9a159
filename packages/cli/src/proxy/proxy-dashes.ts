/** Accepts the spelling of YAIS, `--max_batch_size=8`. Arguments after `--` are no flags. */
export function withDashes(args: readonly string[]): string[] {
  if (args[0] !== 'proxy') return [...args];
  const end = args.indexOf('--');
  return args.map((arg, i) =>
    end >= 0 && i > end ? arg : arg.replace(/^--[a-z][a-z_-]*/, (flag) => flag.replaceAll('_', '-')),
  );
}
