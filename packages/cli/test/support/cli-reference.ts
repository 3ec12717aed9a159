/** The generated parts of docs/reference/cli.md: one per command, made from the tree of commands. */
import type { Argument, Command, Help, Option } from 'commander';
import { exitCodesText, footerOf, optionText } from '../../src/terminal/help.js';

export function commandReference(command: Command): string {
  const help = command.createHelp();
  const { examples = [], notes = [], exitCodes } = footerOf(command);
  const visible = command.options.filter(({ hidden }) => !hidden);
  const shown = visible.filter((option) => !isOfParent(option, command));
  const parent = shown.length < visible.length ? command.parent?.name() : undefined;
  const groups = help.groupItems(shown, shown, ({ helpGroupHeading = '' }) => helpGroupHeading);
  const tables = [...groups].map(([title, options]) => {
    const rows = options.map((option) => flagRow(option, help)).join('\n');
    const heading = groups.size === 1 || title === '' ? [] : [`**${markdown(title.replace(/:$/, ''))}**`];
    return [...heading, `| flag | default | meaning |\n|---|---|---|\n${rows}`].join('\n\n');
  });
  const args = command.registeredArguments.map((argument) => argumentRow(argument, help));
  return [
    `\`${help.commandUsage(command)}\``,
    markdown(help.commandDescription(command)),
    ...(examples.length === 0 ? [] : [`\`\`\`sh\n${examples.join('\n')}\n\`\`\``]),
    ...(args.length === 0 ? [] : [`| argument | meaning |\n|---|---|\n${args.join('\n')}`]),
    ...tables,
    ...(parent === undefined
      ? []
      : [`The flags of the request are those of [\`${parent}\`](#batchwise-${parent}).`]),
    ...[...notes, ...exitCodesText(exitCodes)].map(markdown),
  ].join('\n\n');
}

/** The commands with their summaries. */
export function commandList(program: Command): string {
  const rows = program.commands.map(
    (command) => `| [\`${command.name()}\`](#batchwise-${command.name()}) | ${markdown(command.summary())} |`,
  );
  return `| command | purpose |\n|---|---|\n${rows.join('\n')}`;
}

/** The same flag with the same meaning. */
function isOfParent({ flags, description }: Option, { parent }: Command): boolean {
  return parent?.options.some((each) => each.flags === flags && each.description === description) ?? false;
}

function argumentRow(argument: Argument, help: Help): string {
  return `| \`${argument.name()}\` | ${markdown(help.argumentDescription(argument))} |`;
}

function flagRow(option: Option, help: Help): string {
  const { meaning, fallback = '' } = optionText(option);
  const env = option.envVar === undefined ? '' : `; environment: ${option.envVar}`;
  const flag = help
    .optionTerm(option)
    .replace(/^(-\w), /, '$1`, `')
    .replaceAll('|', '\\|');
  return `| \`${flag}\` | ${markdown(fallback)} | ${markdown(meaning + env)} |`;
}

function markdown(text: string): string {
  return text.replace(/[*|]/g, '\\$&').replaceAll('<', '&lt;');
}
