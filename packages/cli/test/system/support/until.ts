/** Waits until something can be seen. The deadline is for what never comes, not for what is slow. */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endAt = performance.now() + 300_000;
  while (!(await holds())) {
    if (performance.now() > endAt) throw new Error(`It never came to this: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
