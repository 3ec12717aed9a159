/** Help texts: the format of all commands, and the text after the flags. */
import { type Command, Help, type HelpConfiguration, type Option } from 'commander';

export interface HelpFooter {
  readonly examples?: readonly string[];
  /** Paragraphs. */
  readonly notes?: readonly string[];
  /** By exit code. Code 2 is added. */
  readonly exitCodes?: Readonly<Record<number, string>>;
}

export const HELP_OPTION = ['-h, --help', 'show help'] as const;

export const HELP_FORMAT: HelpConfiguration = {
  styleTitle: bold,
  sortSubcommands: false,
  minWidthToWrap: 20,
  argumentDescription: ({ description, argChoices }) => withChoices(description, argChoices),
  optionTerm: (option) => (aliasOf(option) === undefined ? option.flags : option.flags.replace(/^\S+ /, '')),
  optionDescription: (option) => {
    const { meaning, fallback } = optionText(option);
    const env = option.envVar === undefined ? '' : ` (env: ${option.envVar})`;
    return `${meaning}${fallback === undefined ? '' : ` (default: ${fallback})`}${env}`;
  },
};

const footers = new WeakMap<Command, HelpFooter>();

/** Adds the help flag to the last group of flags, and the text after the flags. */
export function finishHelp(command: Command, footer: HelpFooter): Command {
  footers.set(command, footer);
  command.helpOption(...HELP_OPTION);
  if (Object.keys(footer).length === 0) return command;
  return command.addHelpText('after', ({ command }) => {
    const { getOutHelpWidth } = command.configureOutput();
    return `\n${footerText(footer, getOutHelpWidth?.() ?? 100)}`;
  });
}

export function footerOf(command: Command): HelpFooter {
  return footers.get(command) ?? {};
}

function footerText({ examples = [], notes = [], exitCodes }: HelpFooter, width: number): string {
  const shown = examples.length === 0 ? [] : [[bold('Examples:'), ...examples.map((each) => `  $ ${each}`)]];
  const paragraphs = [...notes, ...exitCodesText(exitCodes)].map((text) => [new Help().boxWrap(text, width)]);
  return [...shown, ...paragraphs].map((lines) => lines.join('\n')).join('\n\n');
}

export function exitCodesText(exitCodes: HelpFooter['exitCodes']): string[] {
  if (exitCodes === undefined) return [];
  const all = Object.entries({ ...exitCodes, 2: 'invalid flags' });
  return [`Exit codes: ${all.map(([code, meaning]) => `${code} ${meaning}`).join(', ')}.`];
}

/** What a flag means, with its choices, and its default: the value, or the words at the end of the description. */
export function optionText(option: Option): {
  readonly meaning: string;
  readonly fallback: string | undefined;
} {
  const { description, argChoices, defaultValue } = option;
  const alias = aliasOf(option) === undefined ? '' : `; alias ${aliasOf(option)}`;
  const [, text = '', words] = /^(.*?)(?: \(default: (.*)\))?$/s.exec(description) ?? [];
  return {
    meaning: withChoices(text, argChoices) + alias,
    fallback: defaultValue === undefined ? words : String(defaultValue),
  };
}

function withChoices(text: string, choices: readonly string[] | undefined): string {
  return choices === undefined ? text : `${text}: ${choices.join(', ')}`;
}

/** The other name of a flag. Commander takes the first of two long names for the short one. */
function aliasOf({ short }: Option): string | undefined {
  return short?.startsWith('--') ? short : undefined;
}

function bold(text: string): string {
  return `\x1b[1m${text}\x1b[22m`;
}
