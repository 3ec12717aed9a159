/** Progress of the arena for the progress bar, with the estimated remaining time. */
import type { TournamentProgress } from '@batchwise/arena';
import type { ProgressBar } from '../terminal/progress-bar.js';

export function progressOf(bar: ProgressBar, what: string): (progress: TournamentProgress) => void {
  return ({ done, total, share, leftMs }) =>
    bar.show({ doing: `${done} of ${total} ${what}, ${formatLeft(leftMs)}`, share });
}

export function formatLeft(leftMs: number): string {
  if (leftMs < 1000) return 'almost done';
  const seconds = Math.round(leftMs / 1000);
  return seconds < 90 ? `about ${seconds} s left` : `about ${Math.round(seconds / 60)} min left`;
}
