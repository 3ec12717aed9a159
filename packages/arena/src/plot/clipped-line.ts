/** A polyline in pixels, split at missing values and clipped to the plot area. */

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export type Pixel = readonly [x: number, y: number];

/** Pieces without gaps; a piece of one point is a value without neighbours. */
export function clippedLine(pixels: readonly Pixel[], box: Box): Pixel[][] {
  const pieces: Pixel[][] = [];
  let piece: Pixel[] = [];
  const finish = () => {
    if (piece.length > 0) pieces.push(piece);
    piece = [];
  };
  let before: Pixel | undefined;
  for (const pixel of pixels) {
    if (!isPixel(pixel)) {
      finish();
      before = undefined;
      continue;
    }
    if (before === undefined) {
      if (isInside(pixel, box)) piece.push(pixel);
    } else {
      const part = cutSegment(before, pixel, box);
      if (part !== undefined) {
        if (piece.length === 0) piece.push(part[0]);
        piece.push(part[1]);
        if (!isInside(pixel, box)) finish();
      }
    }
    before = pixel;
  }
  finish();
  return pieces;
}

export function isPixel([x, y]: Pixel): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}

export function isInside([x, y]: Pixel, box: Box): boolean {
  return x >= box.left - 0.01 && x <= box.right + 0.01 && y >= box.top - 0.01 && y <= box.bottom + 0.01;
}

/** The part of a segment within the box (Liang–Barsky). */
function cutSegment([x0, y0]: Pixel, [x1, y1]: Pixel, box: Box): [Pixel, Pixel] | undefined {
  const dx = x1 - x0;
  const dy = y1 - y0;
  let enter = 0;
  let leave = 1;
  const edges = [
    [-dx, x0 - box.left],
    [dx, box.right - x0],
    [-dy, y0 - box.top],
    [dy, box.bottom - y0],
  ] as const;
  for (const [slope, distance] of edges) {
    if (slope === 0) {
      if (distance < -0.01) return undefined;
    } else if (slope < 0) enter = Math.max(enter, distance / slope);
    else leave = Math.min(leave, distance / slope);
  }
  if (enter > leave) return undefined;
  // Clamped because of rounding: the end points of a segment may be very far away.
  const at = (share: number): Pixel => [
    Math.min(Math.max(x0 + share * dx, box.left), box.right),
    Math.min(Math.max(y0 + share * dy, box.top), box.bottom),
  ];
  return [at(enter), at(leave)];
}
