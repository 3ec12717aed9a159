import { DATATYPES, isDatatype } from '../datatype.js';
import type { Datatype } from '../tensor.js';
import { malformed } from './message-error.js';
import { quoted } from './shown-value.js';

export function knownDatatype(datatype: unknown, where: string): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw malformed(where, `expected one of ${DATATYPES.join(', ')}, got ${quoted(String(datatype))}.`);
}
