/** `batchwise completion`: prints the completion script of a shell, made from the tree of commands. */
import { Argument, type Command } from 'commander';
import { loadProgram } from '../program.js';
import { EXIT_CODES } from '../terminal/exit-codes.js';
import { finishHelp, type HelpFooter } from '../terminal/help.js';
import type { Terminal } from '../terminal/terminal.js';
import { bashScript } from './bash-script.js';
import { completionTree } from './completion-tree.js';
import { fishScript } from './fish-script.js';
import { zshScript } from './zsh-script.js';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

const FOOTER: HelpFooter = {
  examples: [
    'mkdir -p ~/.local/share/bash-completion/completions',
    'batchwise completion bash > ~/.local/share/bash-completion/completions/batchwise',
    'batchwise completion zsh > "$fpath[1]/_batchwise"',
    'batchwise completion fish > ~/.config/fish/completions/batchwise.fish',
  ],
  notes: [
    'The script completes commands, flags, choices and files. It works when batchwise is on the PATH, for example after ' +
      'npm install --global. Create it again after an update.',
  ],
  exitCodes: { 0: 'done' },
};

export function setUpCompletion(command: Command, terminal: Terminal, exit: (code: number) => void): void {
  command
    .description('Prints the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'shell').choices(Object.keys(SCRIPTS)))
    .usage('<shell>');
  finishHelp(command, FOOTER).action(async (shell: keyof typeof SCRIPTS) => {
    const program = await loadProgram('all', terminal);
    terminal.stdout.write(SCRIPTS[shell](completionTree(program)));
    exit(EXIT_CODES.ok);
  });
}
