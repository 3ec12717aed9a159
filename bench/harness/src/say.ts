/** What is under way, for whoever waits: on a terminal one line that changes, elsewhere a line for each step. */
export type Say = (text: string) => void;

const ERASE_LINE = '\r\u001b[2K';

export function sayFor(what: string): Say {
  return (text) => {
    const step = `${what}: ${text}`;
    process.stderr.write(process.stderr.isTTY ? ERASE_LINE + step : `${step}\n`);
  };
}

export function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
}
