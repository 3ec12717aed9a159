/** Between a test and the service that it serves, which is loaded in the same process but not by the test. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly entered: (numbers: readonly number[]) => void;
}

const gates = globalThis as { batchwiseTestGate?: Gate };

export function setGate(gate: Gate | undefined): void {
  if (gate === undefined) delete gates.batchwiseTestGate;
  else gates.batchwiseTestGate = gate;
}
