/** Converts half-precision floats, stored as bits, to numbers and back. */

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** Rounds to nearest, ties to even. Values out of range become infinite. */
export function float16Bits(value: number): number {
  float[0] = value;
  const single = bits[0] as number;
  const sign = (single >>> 16) & 0x8000;
  const magnitude = single & 0x7fffffff;
  if (magnitude >= 0x7f800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rounding = 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((magnitude + rounding - 0x38000000) >>> 13);
  }
  // Subnormal: a multiple of 2⁻²⁴.
  const scaled = Math.abs(float[0] as number) * 2 ** 24;
  const whole = Math.floor(scaled);
  const rest = scaled - whole;
  const roundsUp = rest > 0.5 || (rest === 0.5 && whole % 2 === 1);
  return sign | (whole + (roundsUp ? 1 : 0));
}

export function float16Value(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
