/** The output and environment of a command: the process, or an object in tests. */
export interface Terminal {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Whether colours are shown. As in Node, FORCE_COLOR overrides NO_COLOR, and 0 or false means none. */
export function hasColours(output: Output, env: Terminal['env']): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: disabled } = env;
  if (forced !== undefined) return ['', '1', 'true', '2', '3'].includes(forced);
  return !disabled && isLive(output, env);
}

/** Whether a line can be overwritten. */
export function isLive(output: Output, env: Terminal['env']): boolean {
  return output.isTTY === true && env.TERM !== 'dumb';
}
