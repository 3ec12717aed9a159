/**
 * RFC 7541, appendix B. The code is canonical: those of one length follow each other in the order of their symbols, and
 * the next length goes on where the last one ended; so the lengths say everything. The last symbol, 256, is the end
 * of a string, which is never sent.
 */
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

export const END_OF_STRING = 256;

/**
 * Two entries a node, for the bits 0 and 1: the next node's place, or, below zero, the complement of a symbol.
 */
export const HUFFMAN_TREE: Int16Array = treeOf(LENGTHS);

function treeOf(lengths: readonly number[]): Int16Array {
  const tree = new Int16Array(2 * (lengths.length - 1));
  let nodes = 1;
  let code = 0;
  let codeBits = 0;
  const byLength = lengths.map((bits, symbol) => ({ bits, symbol })).sort((a, b) => a.bits - b.bits);
  for (const { bits, symbol } of byLength) {
    code <<= bits - codeBits;
    codeBits = bits;
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const entry = 2 * node + ((code >>> bit) & 1);
      if (tree[entry] === 0) tree[entry] = nodes++;
      node = tree[entry] as number;
    }
    tree[2 * node + (code & 1)] = ~symbol;
    code += 1;
  }
  return tree;
}
