/** Connections besides the one that the commands go over, opened when there is a need; one an address. */
import { type Address, addressText, NodeConnection, type NodeOptions } from './node-connection.js';

export class SideConnections {
  readonly #node: NodeOptions;
  readonly #end = new AbortController();
  readonly #connections = new Map<string, Promise<NodeConnection>>();
  #retired: NodeConnection[] = [];

  constructor(node: NodeOptions) {
    this.#node = { ...node, name: `${node.name}-aside` };
  }

  to(address: Address): Promise<NodeConnection> {
    const name = addressText(address);
    let opening = this.#connections.get(name);
    if (opening === undefined) {
      opening = NodeConnection.open(address, this.#node, this.#end.signal);
      this.#connections.set(name, opening);
      const forget = () => this.#connections.get(name) === opening && this.#connections.delete(name);
      opening.then((connection) => connection.onLost(forget), forget);
    }
    return opening;
  }

  /** There is no need for them at present: each closes when nothing is under way on it. */
  retire(): void {
    this.#retired = this.#retired.filter(({ isOpen }) => isOpen);
    for (const opening of this.#connections.values()) opening.then((it) => this.#retire(it)).catch(() => {});
    this.#connections.clear();
  }

  destroy(): void {
    this.#end.abort();
    for (const opening of this.#connections.values()) opening.then((it) => it.destroy()).catch(() => {});
    for (const connection of this.#retired) connection.destroy();
    this.#connections.clear();
  }

  #retire(connection: NodeConnection): void {
    connection.retire();
    this.#retired.push(connection);
    if (this.#end.signal.aborted) connection.destroy();
  }
}
