/** The zod schemas of a service. Those of zod/mini will do as well, and those of another copy of zod 4. */
import * as z from 'zod';

export type Schema = z.core.$ZodType;

export function isSchema(value: unknown): value is Schema {
  return value instanceof z.core.$ZodType;
}
