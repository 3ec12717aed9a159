/** The policy that a plan is made for: the one that it tells its reader to use. */
import { adaptive, type Policy } from 'batchwise';

export type Prefer = 'latency' | 'efficiency';

export interface PlannedPolicy {
  /** The function of `batchwise` that makes it. */
  readonly name: string;
  /** The call of that function, as it is written in a program. */
  readonly call: string;
  make(): Policy;
}

export function plannedPolicy(prefer: Prefer): PlannedPolicy {
  return {
    name: 'adaptive',
    call: prefer === 'latency' ? 'adaptive()' : "adaptive({ prefer: 'efficiency' })",
    make: () => adaptive({ prefer }),
  };
}
