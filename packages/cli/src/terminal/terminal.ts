/** What a command may write to, and what is known of it. The process has all of it; tests have their own. */
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

/** Whether somebody looks at it who would be glad of colours. */
export function hasColours(output: Output, env: Terminal['env']): boolean {
  return isLive(output, env) && !env.NO_COLOR;
}

/** Whether a line on it can be written over. */
export function isLive(output: Output, env: Terminal['env']): boolean {
  return output.isTTY === true && env.TERM !== 'dumb';
}
