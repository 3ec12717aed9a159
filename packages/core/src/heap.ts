/** A node knows its index in the heap, so that it can be moved or removed in O(log n). */
export interface HeapNode {
  /** −1 outside a heap. */
  heapIndex: number;
}

/**
 * A binary min-heap: `before(a, b)` says whether a comes before b.
 *
 * Keys that only grow need not be up to date: `refresh` updates the key of the first node and returns whether it has
 * changed. The first node whose key is up to date is the first of all.
 */
export class Heap<T extends HeapNode> {
  readonly #nodes: T[] = [];
  readonly #before: (a: T, b: T) => boolean;
  readonly #refresh: ((node: T) => boolean) | undefined;

  constructor(before: (a: T, b: T) => boolean, refresh?: (node: T) => boolean) {
    this.#before = before;
    this.#refresh = refresh;
  }

  get size(): number {
    return this.#nodes.length;
  }

  get first(): T | undefined {
    let first = this.#nodes[0];
    while (first !== undefined && this.#refresh?.(first)) {
      this.#sink(first, 0);
      first = this.#nodes[0];
    }
    return first;
  }

  /** The node at an index: its children are at `2 * index + 1` and `2 * index + 2`, and none of them comes before it. */
  at(index: number): T | undefined {
    return this.#nodes[index];
  }

  /** All nodes, in no particular order. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#nodes[Symbol.iterator]();
  }

  push(node: T): void {
    this.#nodes.push(node);
    this.#rise(node, this.#nodes.length - 1);
  }

  /** Does nothing for a node that is in no heap. */
  remove(node: T): void {
    const index = node.heapIndex;
    if (index < 0) return;
    node.heapIndex = -1;
    const last = this.#nodes.pop() as T;
    if (last === node) return;
    this.#rise(last, index);
    this.#sink(last, last.heapIndex);
  }

  /** Moves a node whose key has changed; does nothing for a node that is in no heap. */
  update(node: T): void {
    if (node.heapIndex < 0) return;
    this.#rise(node, node.heapIndex);
    this.#sink(node, node.heapIndex);
  }

  #rise(node: T, from: number): void {
    const nodes = this.#nodes;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = nodes[parentIndex] as T;
      if (!this.#before(node, parent)) break;
      nodes[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    nodes[index] = node;
    node.heapIndex = index;
  }

  #sink(node: T, from: number): void {
    const nodes = this.#nodes;
    let index = from;
    for (let childIndex = 2 * index + 1; childIndex < nodes.length; childIndex = 2 * index + 1) {
      let child = nodes[childIndex] as T;
      const right = nodes[childIndex + 1];
      if (right !== undefined && this.#before(right, child)) {
        child = right;
        childIndex += 1;
      }
      if (!this.#before(child, node)) break;
      nodes[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    nodes[index] = node;
    node.heapIndex = index;
  }
}
