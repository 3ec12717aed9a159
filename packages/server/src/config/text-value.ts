/** The value that a text from the environment or from a flag stands for. */
import type { Kind } from './setting-kind.js';
import { YamlTree } from './yaml-tree.js';

/** Read as YAML, so that 32 is a number and true is true; lists also as 1, 2, 4. */
export function valueOfText(text: string, kind: Kind<unknown>): unknown {
  if (kind.isText && text !== 'null') return text;
  const value = yamlValue(text);
  if (kind.isList && typeof value === 'string') return yamlValue(`[${text}]`) ?? value;
  return value ?? (isNull(text) ? null : text);
}

/** Null for what cannot be read: the text is told as it is then. */
function yamlValue(text: string): unknown {
  const tree = new YamlTree(text);
  return tree.complaints.length > 0 ? null : tree.plain(tree.root);
}

function isNull(text: string): boolean {
  return /^\s*(?:null|~|)\s*$/i.test(text);
}
