/** Which of these have come to an end by now; what each has come to is still theirs. */
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
