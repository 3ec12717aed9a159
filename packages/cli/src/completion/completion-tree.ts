/** What a shell can complete: the tree of commands, as the scripts need it. */
import type { Argument, Command, Option } from 'commander';
import { optionText } from '../terminal/help.js';

export interface CompletedCommand {
  /** `batchwise load knee` */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** The values of its arguments. */
  readonly values: CompletedValues;
  readonly commands: readonly CompletedCommand[];
}

export interface CompletedFlag {
  /** `-c`, `--config` */
  readonly names: readonly string[];
  readonly meaning: string;
  /** Undefined for a flag without a value. */
  readonly values: CompletedValues | undefined;
}

/** `none`: nothing can be proposed. */
export type CompletedValues = 'files' | 'none' | readonly string[];

const FILES = /^(?:files?|folder|path|prefix|source|target)$/;

export function completionTree(command: Command, parent = ''): CompletedCommand {
  const path = `${parent} ${command.name()}`.trim();
  const help = command.createHelp();
  const commands = help.visibleCommands(command).map((each) => completionTree(each, path));
  return {
    path,
    name: command.name(),
    summary: help.subcommandDescription(command),
    flags: help.visibleOptions(command).map(completedFlag),
    values: valuesOf(command.registeredArguments),
    // `batchwise help <command>`
    commands: commands.map((each) =>
      each.name === 'help' ? { ...each, values: commands.map(({ name }) => name) } : each,
    ),
  };
}

/** The command and all commands below it. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)];
}

function completedFlag(option: Option): CompletedFlag {
  const [, value] = /<(.*)>/.exec(option.flags) ?? [];
  const named = FILES.test(value ?? '') ? 'files' : 'none';
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    meaning: optionText(option).meaning,
    values: value === undefined ? undefined : (option.argChoices ?? named),
  };
}

function valuesOf(args: readonly Argument[]): CompletedValues {
  const choices = args.flatMap(({ argChoices = [] }) => argChoices);
  if (choices.length > 0) return choices;
  return args.some((arg) => FILES.test(arg.name())) ? 'files' : 'none';
}
