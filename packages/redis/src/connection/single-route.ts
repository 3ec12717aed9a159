/** One node for all keys: a Redis on its own, or the master that sentinels name. */
import { BatchwiseError } from 'batchwise';
import { Line, type LineEvents, type Locate } from './line.js';
import { type Address, addressText, type NodeOptions } from './node-connection.js';
import type { Routes } from './routes.js';

export class SingleRoute implements Routes {
  readonly #line: Line;

  constructor(locate: Locate, node: NodeOptions, events: LineEvents) {
    this.#line = new Line(locate, node, events);
  }

  get isUp(): boolean {
    return this.#line.connection !== undefined;
  }

  lineFor(): Line {
    return this.#line;
  }

  moved(key: string, to: Address): void {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `url: expected redis+cluster://…, because this Redis is part of a cluster: it has ${JSON.stringify(key)} at ${addressText(to)}.`,
    );
  }

  destroy(): void {
    this.#line.destroy();
  }
}
