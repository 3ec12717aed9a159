/** What a heap holds knows its place in it, so that it can be moved or removed in O(log n). */
export interface HeapNode {
  /** −1 while in no heap. */
  heapIndex: number;
}

/** A binary min-heap: `before(a, b)` says whether a comes out before b. */
export class Heap<T extends HeapNode> {
  readonly #nodes: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#nodes.length;
  }

  get first(): T | undefined {
    return this.#nodes[0];
  }

  /** The node at a place: those below it are at `2 * place + 1` and `2 * place + 2`, and none of them comes before it. */
  at(place: number): T | undefined {
    return this.#nodes[place];
  }

  /** All nodes, in no particular order. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#nodes[Symbol.iterator]();
  }

  push(node: T): void {
    this.#nodes.push(node);
    this.#rise(node, this.#nodes.length - 1);
  }

  remove(node: T): void {
    const index = node.heapIndex;
    const last = this.#nodes.pop();
    node.heapIndex = -1;
    if (last === undefined || last === node) return;
    this.#nodes[index] = last;
    last.heapIndex = index;
    this.update(last);
  }

  /** Puts a node whose key has changed where it belongs. */
  update(node: T): void {
    this.#rise(node, node.heapIndex);
    this.#sink(node, node.heapIndex);
  }

  /** Puts all nodes where they belong after their keys have changed. */
  rebuild(): void {
    for (let index = (this.#nodes.length >> 1) - 1; index >= 0; index--) {
      this.#sink(this.#nodes[index] as T, index);
    }
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
