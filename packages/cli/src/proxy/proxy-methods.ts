/** The list of methods: texts, `path[=batched]`, or in a file maps with their own settings. */
import {
  acceptSetting,
  type SettingComplaint,
  type SettingContext,
  type SettingKind,
  type SettingVerdict,
} from '@batchwise/server';
import { batchedName, complain, entriesOf, methodPath, splitMethod } from './proxy-kinds.js';
import { type MapEntry, parseMap } from './proxy-map.js';
import type { MethodSettings, NamedMethod } from './proxy-settings.js';

const EXPECTED = 'a list of methods, each path[=batched] or a map with method, batched and its batching';

export function methodList(
  batching: readonly MapEntry<keyof MethodSettings>[],
): SettingKind<readonly NamedMethod[]> {
  const entries: readonly MapEntry<keyof NamedMethod>[] = [
    { key: 'method', field: 'method', kind: methodPath },
    { key: 'batched', field: 'batched', kind: batchedName },
    ...batching,
  ];
  return {
    expected: EXPECTED,
    isText: true,
    parse(value, context) {
      const listed = entriesOf(value);
      if (listed.length === 0) return complain([], EXPECTED, value);
      const methods: NamedMethod[] = [];
      const complaints: SettingComplaint[] = [];
      for (const [i, entry] of listed.entries()) {
        const at = Array.isArray(value) ? [i] : [];
        const verdict = parseMethod(entry, entries, context);
        const again =
          'value' in verdict && methods.some(({ method }) => method === verdict.value.method)
            ? complain([], 'each method once', verdict.value.method)
            : verdict;
        if ('value' in again) methods.push(again.value);
        else complaints.push(...again.complaints.map((each) => ({ ...each, at: [...at, ...each.at] })));
      }
      return complaints.length > 0 ? { complaints } : acceptSetting(Object.freeze(methods));
    },
    write: (methods) => methods.map(({ method, batched }) => (batched ? `${method}=${batched}` : method)),
  };
}

function parseMethod(
  entry: unknown,
  entries: readonly MapEntry<keyof NamedMethod>[],
  context: SettingContext,
): SettingVerdict<NamedMethod> {
  if (!(entry instanceof Map)) {
    if (typeof entry !== 'string') return complain([], 'path[=batched], or a map with method', entry);
    const { method, batched } = splitMethod(entry);
    for (const verdict of [
      methodPath.parse(method, context),
      ...(batched === undefined ? [] : [batchedName.parse(batched, context)]),
    ])
      if ('complaints' in verdict) return verdict;
    return acceptSetting({ method, ...(batched !== undefined && { batched }) });
  }
  const verdict = parseMap(entry, entries, context);
  if ('complaints' in verdict) return verdict;
  if (!verdict.value.has('method'))
    return complain([], 'a method in it, such as method: /package.Service/Compute', entry);
  const given = [...verdict.value].map(([field, { value }]) => [field, value]);
  return acceptSetting(Object.fromEntries(given) as NamedMethod);
}
