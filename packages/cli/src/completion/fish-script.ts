/** The completion script of fish. */
import {
  allCommands,
  type CompletedCommand,
  type CompletedFlag,
  type CompletedValues,
} from './completion-tree.js';

export function fishScript(root: CompletedCommand): string {
  const commands = allCommands(root);
  const paths = commands.slice(1).map(({ path }) => `'${path}'`);
  return `# Completion of batchwise for fish
function __batchwise_command
    set -l command batchwise
    for word in (commandline -opc)
        switch "$command $word"
            case ${paths.join(' ')}
                set command "$command $word"
        end
    end
    test "$command" = "$argv"
end
complete -c batchwise -f
${commands.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, flags, values, commands }: CompletedCommand): string[] {
  const start = `complete -c batchwise -n '__batchwise_command ${path}'`;
  return [
    ...commands.map(({ name, summary }) => `${start} -a ${name} -d ${quoted(summary)}`),
    ...flags.map((flag) => `${start} ${flagOptions(flag)}`),
    ...(values === 'none' ? [] : [`${start} ${valueOptions(values)}`]),
  ];
}

function flagOptions({ names, meaning, values }: CompletedFlag): string {
  const named = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = values === undefined ? '' : ` -r ${values === 'none' ? '-f' : valueOptions(values)}`;
  return `${named.join(' ')}${value} -d ${quoted(meaning)}`;
}

function valueOptions(values: CompletedValues): string {
  return values === 'files' ? '-F' : `-f -a ${quoted((values as readonly string[]).join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
