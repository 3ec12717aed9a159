export interface Line {
  readonly slope: number;
  readonly intercept: number;
}

/**
 * The line through points with the least squares. Through points that are all at one x there are many,
 * equally good; then it is the one whose slope and intercept are smallest together, as linear algebra
 * packages answer. That is how a backend seen at one batch size only is taken for one without overhead.
 */
export function lineFit(points: readonly { readonly x: number; readonly y: number }[]): Line {
  const count = points.length;
  let sumX = 0;
  let sumY = 0;
  for (const { x, y } of points) {
    sumX += x;
    sumY += y;
  }
  const meanX = sumX / count;
  const meanY = sumY / count;
  let squares = 0;
  let products = 0;
  for (const { x, y } of points) {
    squares += (x - meanX) ** 2;
    products += (x - meanX) * (y - meanY);
  }
  if (squares === 0) {
    const intercept = meanY / (meanX * meanX + 1);
    return { slope: meanX * intercept, intercept };
  }
  const slope = products / squares;
  return { slope, intercept: meanY - slope * meanX };
}
