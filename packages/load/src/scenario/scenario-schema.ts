/** What a scenario may be made of. */
import { z } from 'zod';
import { waitTimeSchema } from '../run/wait-time.js';
import type { LoadDefinition, TaskFunction, UserKind } from './define-load.js';

const weight = z
  .number('expected a weight, a number from 0')
  .min(0, 'expected a weight, a number from 0')
  .optional();

const taskFunction = z.custom<TaskFunction>(isFunction, 'expected a function of a user');
const tags = z.array(z.string('expected a tag, a string'), 'expected tags, such as ["read"]').optional();

const WHOLE_NUMBER = /^\d+$/;
/** JavaScript would put such keys first. */
const name = z
  .string()
  .refine((key) => key !== '' && !WHOLE_NUMBER.test(key), 'expected a name that is not a number');

function named<T extends z.ZodType>(value: T, what: string) {
  return z
    .record(name, value, `expected ${what} by name`)
    .refine((record) => Object.keys(record).length > 0, `expected at least one of the ${what}`);
}

const task = z.union([taskFunction, z.strictObject({ weight, tags, run: taskFunction })], {
  error: 'expected a function of a user, or { run, weight, tags }',
});
const sequenceTask = z.union([taskFunction, z.strictObject({ tags, run: taskFunction })], {
  error: 'expected a function of a user, or { run, tags }',
});

const userKind = z
  .strictObject(
    {
      weight,
      waitTime: waitTimeSchema.optional(),
      state: z.custom<UserKind['state']>(isFunction, 'expected a function that returns the state').optional(),
      onStart: taskFunction.optional(),
      onStop: taskFunction.optional(),
      tasks: named(task, 'tasks').optional(),
      sequence: named(sequenceTask, 'tasks').optional(),
    },
    { error: objectError('a kind of users, such as { tasks: { … } }') },
  )
  .refine(({ tasks, sequence }) => (tasks === undefined) !== (sequence === undefined), {
    error: 'expected either tasks or a sequence',
  });

export const scenarioSchema = z.strictObject(
  {
    host: z.string('expected a URL, such as http://localhost:3000').optional(),
    users: named(userKind, 'kinds of users'),
    shape: z
      .custom<LoadDefinition['shape']>(isFunction, 'expected a function of the elapsed seconds')
      .optional(),
    targets: z
      .record(z.string(), z.custom<object>(isObject, 'expected a target, such as { url }'))
      .optional(),
    samples: z
      .record(
        z.string(),
        z.union([z.string(), z.array(z.unknown()).min(1)], {
          error: 'expected @file, or at least one value',
        }),
      )
      .optional(),
    timeoutMs: z.number('expected milliseconds above 0').gt(0, 'expected milliseconds above 0').optional(),
    tls: z.strictObject({ ca: z.string().optional(), insecure: z.boolean().optional() }).optional(),
  },
  { error: objectError('a scenario, such as { users: { … } }') },
);

/** Undefined leaves the message for unknown keys as it is. */
function objectError(what: string) {
  return (issue: { readonly code?: string }) =>
    issue.code === 'unrecognized_keys' ? undefined : `expected ${what}`;
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
