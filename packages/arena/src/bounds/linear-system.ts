/**
 * Solves `matrix · x = right` by Gaussian elimination with partial pivoting. The matrix is dense and in row order.
 * Overwrites both: `right` becomes x.
 */
export function solveLinear(matrix: Float64Array, right: Float64Array): Float64Array {
  const size = right.length;
  const rows = Array.from({ length: size }, (_, row) => matrix.subarray(row * size, (row + 1) * size));
  for (let column = 0; column < size; column++) {
    swapInPivot(rows, right, column);
    const pivotRow = rows[column] as Float64Array;
    const pivot = pivotRow[column] as number;
    if (pivot === 0) throw new RangeError('The linear system has no single solution.');
    for (let below = column + 1; below < size; below++) {
      const row = rows[below] as Float64Array;
      const factor = (row[column] as number) / pivot;
      if (factor === 0) continue;
      for (let i = column; i < size; i++) row[i] = (row[i] as number) - factor * (pivotRow[i] as number);
      right[below] = (right[below] as number) - factor * (right[column] as number);
    }
  }
  for (let i = size - 1; i >= 0; i--) {
    const row = rows[i] as Float64Array;
    let rest = right[i] as number;
    for (let j = i + 1; j < size; j++) rest -= (row[j] as number) * (right[j] as number);
    right[i] = rest / (row[i] as number);
  }
  return right;
}

function swapInPivot(rows: Float64Array[], right: Float64Array, column: number): void {
  let best = column;
  for (let row = column + 1; row < rows.length; row++) {
    if (Math.abs(rows[row]?.[column] as number) > Math.abs(rows[best]?.[column] as number)) best = row;
  }
  if (best === column) return;
  [rows[column], rows[best]] = [rows[best] as Float64Array, rows[column] as Float64Array];
  [right[column], right[best]] = [right[best] as number, right[column] as number];
}
