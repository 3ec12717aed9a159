/**
 * The size of an item: as DynamoDB stores it (limit 400 KB), and as JSON on the wire (limit 16 MB a request). Both are
 * estimates: DynamoDB's own formula for numbers is approximate, and the JSON is counted with some room. An item or a
 * request that DynamoDB still finds too large is split off when it says so.
 */
import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { invalidItem } from '@batchwise/aws';
import { binary } from './primary-key.js';
import type { Attributes } from './table-options.js';

export interface ItemSize {
  storedBytes: number;
  wireBytes: number;
}

/** DynamoDB's limit; it also ends the walk through an item that contains itself. */
const MAX_DEPTH = 32;

/** A value with its type: `{"S":""},`. The longest type name has four letters. */
const TYPE_BYTES = 12;

export function itemSize(item: Attributes): ItemSize {
  const size = { storedBytes: 0, wireBytes: TYPE_BYTES };
  for (const name of Object.keys(item)) addAttribute(size, name, item[name], 1);
  return size;
}

function addAttribute(size: ItemSize, name: string, value: unknown, depth: number): void {
  if (value === undefined || typeof value === 'function') return; // the document client leaves these out
  const bytes = Buffer.byteLength(name);
  size.storedBytes += bytes;
  size.wireBytes += 2 * bytes + 4;
  addValue(size, value, depth);
}

function addValue(size: ItemSize, value: unknown, depth: number): void {
  if (depth > MAX_DEPTH + 1) {
    throw invalidItem(`the item is nested more than ${MAX_DEPTH} levels deep.`);
  }
  size.wireBytes += TYPE_BYTES;
  if (typeof value === 'string')
    add(size, Buffer.byteLength(value), Buffer.byteLength(JSON.stringify(value)));
  else if (typeof value === 'number' || typeof value === 'bigint' || value instanceof NumberValue) {
    const text = String(value);
    add(size, 1 + Math.ceil(text.replace(/e.*$|\D|^-?0*\.?0*/gi, '').length / 2), text.length);
  } else if (typeof value !== 'object' || value === null) add(size, 1, 5);
  else addContainer(size, value, depth);
}

function addContainer(size: ItemSize, value: object, depth: number): void {
  const bytes = binary(value)?.length;
  if (bytes !== undefined) {
    add(size, bytes, 4 * Math.ceil(bytes / 3));
  } else if (value instanceof Set) {
    for (const element of value) addValue(size, element, depth + 1);
  } else if (Array.isArray(value)) {
    add(size, 3 + value.length, 0);
    for (const element of value) addValue(size, element, depth + 1);
  } else {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    add(size, 3 + entries.length, 0);
    for (const [name, element] of entries) addAttribute(size, String(name), element, depth + 1);
  }
}

function add(size: ItemSize, storedBytes: number, wireBytes: number): void {
  size.storedBytes += storedBytes;
  size.wireBytes += wireBytes;
}
