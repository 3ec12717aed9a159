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

/** Whether colours are shown. */
export function hasColours(output: Output, env: Terminal['env']): boolean {
  return isLive(output, env) && !env.NO_COLOR;
}

/** Whether a line can be overwritten. */
export function isLive(output: Output, env: Terminal['env']): boolean {
  return output.isTTY === true && env.TERM !== 'dumb';
}
