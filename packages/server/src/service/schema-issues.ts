/** What zod finds wrong with a value, in the words of this server: where, what was expected, what came. */

import { shownValue } from '@batchwise/runners';
import type * as z from 'zod';

type Issue = z.core.$ZodIssue;

/** More would make an answer longer than the request that it is about. */
const MOST_ISSUES = 20;
const MOST_ALTERNATIVES = 5;

export interface FoundIssue {
  /** `body.rows[3].sepal_length` */
  readonly where: string;
  /** `expected number, got "x"` */
  readonly message: string;
}

/** `root` names the whole value: `body`, `query`. Takes issues that tell their input. */
export function foundIssues(root: string, issues: readonly Issue[]): FoundIssue[] {
  return issues.slice(0, MOST_ISSUES).map((issue) => ({
    where: place(root, issue.path),
    message: messageOf(issue),
  }));
}

/** Neither JSON nor a query has a NaN or a Date: where a schema saw one, it had made it of what is told instead. */
export function asItCame(issue: Issue, value: unknown): Issue {
  if (!Number.isNaN(issue.input) && !(issue.input instanceof Date)) return issue;
  let came = value;
  for (const part of issue.path) {
    if (typeof came !== 'object' || came === null) return issue;
    came = Object.hasOwn(came, part) ? (came as Record<PropertyKey, unknown>)[part] : undefined;
  }
  return { ...issue, input: came } as Issue;
}

/** All of them in one line. */
export function issueText(root: string, issues: readonly Issue[]): string {
  const found = foundIssues(root, issues).map(({ where, message }) => `${where}: ${message}`);
  const left = issues.length - found.length;
  return `${found.join('; ')}${left > 0 ? `; and ${left} more` : ''}`;
}

function place(root: string, path: readonly PropertyKey[]): string {
  let text = root;
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (typeof part === 'string' && /^[A-Za-z_$][\w$]{0,63}$/.test(part)) text += `.${part}`;
    else text += `[${shownValue(part)}]`;
  }
  return text;
}

function messageOf(issue: Issue): string {
  // What the author of the schema has to say of it goes before ours; zod's own sentences begin like these.
  const isOurs = /^(Invalid|Too |Unrecognized)/.test(issue.message);
  if (!isOurs) return issue.code === 'unrecognized_keys' ? issue.message : withInput(issue.message, issue);
  switch (issue.code) {
    case 'unrecognized_keys':
      return `unknown ${issue.keys.length === 1 ? 'key' : 'keys'} ${issue.keys.slice(0, MOST_ISSUES).map(shownValue).join(', ')}`;
    case 'invalid_union':
      return unionMessage(issue);
    default:
      return withInput(expectation(issue.message), issue);
  }
}

/** `Invalid input: expected number, received string` and `Too big: expected number to be <=3` without their frames. */
function expectation(message: string): string {
  return message.replace(/^[^:]*: (?=expected|must)/, '').replace(/, received [^,]*$/, '');
}

function withInput(message: string, issue: Issue): string {
  return 'input' in issue ? `${message}, got ${shownValue(issue.input)}` : message;
}

function unionMessage(issue: z.core.$ZodIssueInvalidUnion): string {
  const alternatives = issue.errors
    .slice(0, MOST_ALTERNATIVES)
    .map((issues) => issues[0])
    .filter((first) => first !== undefined)
    .map((first) =>
      first.path.length === 0 ? messageOf(first) : `${place('', first.path)}: ${messageOf(first)}`,
    );
  if (alternatives.length === 0) return withInput('expected one of several alternatives', issue);
  return `matches none of the alternatives (${alternatives.join('; or ')})`;
}
