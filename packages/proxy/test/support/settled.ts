/** The promises that are settled by now. Their values and errors are not consumed. */
export function settledOf(promises: readonly Promise<unknown>[]): () => readonly number[] {
  const settled: number[] = [];
  promises.forEach((promise, index) => {
    const note = () => {
      settled.push(index);
    };
    promise.then(note, note);
  });
  return () => settled;
}
