/** Small messages go out together: each write costs more than copying some kilobytes. */

const JOINED_BYTES = 32 * 1024;

export interface WithFrame {
  readonly frame: Buffer;
}

export interface JoinedFrames {
  readonly bytes: Buffer;
  /** The place of the first that is not among them. */
  readonly next: number;
}

/** The frames from a place on, as many as belong in one write; a large one goes alone, and is not copied. */
export function joinedFrames(items: readonly WithFrame[], from: number): JoinedFrames {
  const first = (items[from] as WithFrame).frame;
  let next = from + 1;
  let total = first.length;
  for (; next < items.length; next++) {
    const { length } = (items[next] as WithFrame).frame;
    if (total + length > JOINED_BYTES) break;
    total += length;
  }
  if (next === from + 1) return { bytes: first, next };
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (let place = from; place < next; place++) {
    const { frame } = items[place] as WithFrame;
    bytes.set(frame, at);
    at += frame.length;
  }
  return { bytes, next };
}
