/**
 * Memory of the messages of accepted, unanswered calls. Each tenant has a fair share. Large answers that a tenant does not
 * read count against its own share only.
 */
import { FairPool } from '@batchwise/grpc';
import type { Tenant } from './tenants.js';

export class QueueBytes {
  readonly max: number;
  readonly #messages = new FairPool<Tenant>();
  readonly #answers = new FairPool<Tenant>();

  constructor(max: number) {
    this.max = max;
  }

  get used(): number {
    return this.#messages.used + this.#answers.used;
  }

  /** Reserves memory; false if the share is used up. A single message is always accepted when nothing else is held. */
  take(tenant: Tenant, bytes: number): boolean {
    const unreadBytes = this.#answers.heldBy(tenant);
    const isAlone = this.#messages.used === 0 && unreadBytes === 0;
    if (!isAlone && !this.#messages.hasRoom(tenant, bytes + unreadBytes, this.max)) return false;
    this.#messages.take(tenant, bytes);
    return true;
  }

  release(tenant: Tenant, bytes: number): void {
    this.#messages.giveBack(tenant, bytes);
  }

  addAnswer(tenant: Tenant, bytes: number): void {
    this.#answers.take(tenant, bytes);
  }

  removeAnswer(tenant: Tenant, bytes: number): void {
    this.#answers.giveBack(tenant, bytes);
  }
}
