/** Nodes that know where the others are: asked in turn, over a connection of its own, until one answers. */
import type { Reply } from './link.js';
import {
  type Address,
  addressText,
  NodeConnection,
  type NodeOptions,
  reasonText,
} from './node-connection.js';

/** There are others to ask. */
const REPLY_TIMEOUT_MS = 2_000;

export class Informants {
  readonly #node: NodeOptions;
  #addresses: readonly Address[];
  #next = 0;

  constructor(addresses: readonly Address[], node: NodeOptions) {
    this.#addresses = addresses;
    const { replyTimeoutMs = REPLY_TIMEOUT_MS } = node;
    this.#node = { ...node, replies: 'text', replyTimeoutMs: Math.min(replyTimeoutMs, REPLY_TIMEOUT_MS) };
  }

  /** Those that are known besides the first ones, by now. */
  alsoAsk(addresses: readonly Address[]): void {
    const known = new Map(
      [...this.#addresses, ...addresses].map((address) => [addressText(address), address]),
    );
    this.#addresses = [...known.values()];
  }

  /**
   * The first answer that `read` can use. Begins with another one each time: one that is cut off from the rest goes on
   * giving old answers.
   */
  async ask<T>(
    command: readonly string[],
    read: (reply: Reply, from: Address) => T | undefined,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const first = this.#next++;
    let failure: unknown;
    let isAnswered = false;
    for (let i = 0; i < this.#addresses.length && !signal.aborted; i++) {
      const address = this.#addresses[(first + i) % this.#addresses.length] as Address;
      try {
        const answer = read(await this.#askOne(address, command, signal), address);
        if (answer !== undefined) return answer;
        isAnswered = true;
      } catch (error) {
        failure = new Error(`${addressText(address)}: ${reasonText(error as Error)}`, { cause: error });
      }
    }
    if (!isAnswered && failure !== undefined) throw failure;
    return undefined;
  }

  async #askOne(address: Address, command: readonly string[], signal: AbortSignal): Promise<Reply> {
    const connection = await NodeConnection.open(address, this.#node, signal);
    try {
      return await connection.send(command);
    } finally {
      connection.destroy();
    }
  }
}
