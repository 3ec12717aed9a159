/** Errors for options and items that the core does not check, because only the service's limits rule them out. */
import { BatchwiseError } from 'batchwise';

export function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

export function invalidItem(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message);
}

/** Throws `INVALID_OPTION` unless the option is a whole number within the limits. */
export function checkWithin(name: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return;
  throw invalidOption(`${name}: expected a whole number from ${least} to ${most}, got ${String(value)}.`);
}
