/** The completion script of bash, from version 3.2 (macOS). */
import { allCommands, type CompletedCommand } from './completion-tree.js';

/** Without a proposal of the function, bash completes files (`-o default`). */
export function bashScript(root: CompletedCommand): string {
  const commands = allCommands(root);
  const cases = (entries: readonly (readonly [pattern: string, words: readonly string[]])[]) =>
    entries
      .filter(([, words]) => words.length > 0)
      .map(([pattern, words]) => `    ${pattern}) words='${words.join(' ')}' ;;`)
      .join('\n');
  const flags = commands.map(
    ({ path, flags }) => [`'${path}'`, flags.flatMap(({ names }) => names)] as const,
  );
  const args = commands.map(
    ({ path, commands, values }) =>
      [`'${path}'`, [...commands.map(({ name }) => name), ...(Array.isArray(values) ? values : [])]] as const,
  );
  const valued = commands.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, values }) =>
      values === undefined ? [] : [[names.map((name) => `'${path} ${name}'`).join('|'), values] as const],
    ),
  );
  const choices = valued.flatMap(([pattern, values]) =>
    Array.isArray(values) ? [[pattern, values as string[]] as const] : [],
  );
  const free = valued.flatMap(([pattern, values]) => (Array.isArray(values) ? [] : [pattern]));
  return `# Completion of batchwise for bash
_batchwise() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local command=batchwise words= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
    ${commands
      .slice(1)
      .map(({ path }) => `'${path}'`)
      .join('|')})
      command="$command \${COMP_WORDS[i]}" ;;
    esac
  done
  # bash splits --flag=value at the sign.
  if [ "$current" = = ]; then
    current=
  elif [ "$previous" = = ]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$command $previous" in
${cases(choices)}
    ${free.join('|')}) return ;;
  esac
  if [ -z "$words" ]; then
    case $current in
    -*)
      case $command in
${cases(flags)}
      esac ;;
    *)
      case $command in
${cases(args)}
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _batchwise batchwise
`;
}
