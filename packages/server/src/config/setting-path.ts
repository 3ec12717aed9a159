/** How the place of a setting is written: `runners.iris.batching.max_batch_size`, `models[1].path`. */
export type SettingPath = readonly (string | number)[];

const PLAIN_WORD = /^[\w/-]+$/;

/** Names with dots or odd characters are quoted, so that no two paths are written alike. */
export function pathText(path: SettingPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (PLAIN_WORD.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}
