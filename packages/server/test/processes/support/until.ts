/** Turns of the event loop until something holds: sockets take as many as they take. */
export async function until(holds: () => boolean, what = String(holds)): Promise<void> {
  const endAt = performance.now() + 20_000;
  while (!holds()) {
    if (performance.now() > endAt) throw new Error(`It never came to this: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A few turns, for what must not happen. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
