/** `name`, or `name_2` and so on when it is taken: paths that differ only in what an id cannot have would share one. */
export function unusedName(name: string, taken: Set<string>): string {
  let candidate = name;
  for (let i = 2; taken.has(candidate); i++) candidate = `${name}_${i}`;
  taken.add(candidate);
  return candidate;
}
