/** The completion script of zsh: one function per command. */
import {
  allCommands,
  type CompletedCommand,
  type CompletedFlag,
  type CompletedValues,
} from './completion-tree.js';

export function zshScript(root: CompletedCommand): string {
  return `#compdef batchwise
# Completion of batchwise for zsh
${allCommands(root).map(commandFunction).join('\n')}
if [[ $funcstack[1] == _batchwise ]]; then _batchwise "$@"; else compdef _batchwise batchwise; fi
`;
}

function commandFunction({ path, flags, values, commands }: CompletedCommand): string {
  const specs = flags.map((flag) => `    ${flagSpec(flag)} \\\n`).join('');
  const dispatch = commands.map(
    ({ name, path }) => `    ${name}) shift words; (( CURRENT-- )); ${functionName(path)}; return ;;\n`,
  );
  const own = values === 'none' ? '' : `_alternative 'values:value:${actionOf(values)}'`;
  const described = commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ');
  return `${functionName(path)}() {
  local context state state_descr line
  typeset -A opt_args
${dispatch.length === 0 ? '' : `  (( CURRENT > 2 )) && case $words[2] in\n${dispatch.join('')}  esac\n`}  _arguments \\
${specs}    '*: :->argument'
  [[ $state == argument ]] || return
${commands.length === 0 ? '' : `  local -a commands=(${described})\n  (( CURRENT == 2 )) && _describe command commands\n`}${own === '' ? '' : `  ${own}\n`}}`;
}

/** `'*'{-c,--config=}'[the configuration file]:value:_files'` */
function flagSpec({ names, meaning, values }: CompletedFlag): string {
  const action = values === undefined ? '' : `:value:${actionOf(values)}`;
  // Also `--config=batchwise.yaml`.
  const shown = names.map((name) => (values !== undefined && name.startsWith('--') ? `${name}=` : name));
  const text = quoted(`[${meaning.replace(/[[\]\\:]/g, '\\$&')}]${action}`);
  return `'*'${shown.length === 1 ? shown[0] : `{${shown.join(',')}}`}${text}`;
}

function actionOf(values: CompletedValues): string {
  if (values === 'files') return '_files';
  return values === 'none' ? ' ' : `(${values.join(' ')})`;
}

function functionName(path: string): string {
  return `_${path.replaceAll(' ', '_')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
