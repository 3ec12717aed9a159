/**
 * How much memory the messages take of calls that were accepted and are not answered yet. Each tenant has a fair share. Large
 * answers that a tenant does not take count against its own share, not against that of others.
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

  /** Takes so many, or says that there is no room. One message always has room when nothing else is there. */
  take(tenant: Tenant, bytes: number): boolean {
    const untaken = this.#answers.heldBy(tenant);
    const isAlone = this.#messages.used === 0 && untaken === 0;
    if (!isAlone && !this.#messages.hasRoom(tenant, bytes + untaken, this.max)) return false;
    this.#messages.take(tenant, bytes);
    return true;
  }

  giveBack(tenant: Tenant, bytes: number): void {
    this.#messages.giveBack(tenant, bytes);
  }

  addAnswer(tenant: Tenant, bytes: number): void {
    this.#answers.take(tenant, bytes);
  }

  answerTaken(tenant: Tenant, bytes: number): void {
    this.#answers.giveBack(tenant, bytes);
  }
}
