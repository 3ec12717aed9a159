/** A progress bar on stderr; nothing if the output cannot overwrite lines. */
import { isLive, type Terminal } from './terminal.js';

const ERASE_LINE = '\r\x1b[2K';
const WIDTH = 24;

export class ProgressBar {
  readonly #terminal: Terminal;
  readonly #isLive: boolean;
  #shown = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#isLive = isLive(terminal.stderr, terminal.env);
  }

  show({ doing, share }: { readonly doing: string; readonly share: number }): void {
    if (!this.#isLive) return;
    const filled = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
    const bar = `${'━'.repeat(filled)}${'╌'.repeat(WIDTH - filled)}`;
    // A wrapped line cannot be erased, so the line is truncated.
    const line = `${bar} ${`${Math.floor(100 * share)}`.padStart(3)} %  ${doing}`.slice(
      0,
      (this.#terminal.stderr.columns || 80) - 1,
    );
    if (line === this.#shown) return;
    this.#shown = line;
    this.#terminal.stderr.write(ERASE_LINE + line);
  }

  clear(): void {
    if (this.#shown !== '') this.#terminal.stderr.write(ERASE_LINE);
    this.#shown = '';
  }
}
