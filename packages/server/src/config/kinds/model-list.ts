import { basename, extname } from 'node:path';
import { isUrl, nameOfUpstream, parseUpstream, shownUrl, type UpstreamAddress } from '@batchwise/runners';
import { didYouMean } from 'batchwise';
import { pythonReference } from '../../python-reference.js';
import { MODEL_KINDS } from '../../serves-model.js';
import type { ModelSettings } from '../server-settings.js';
import { accept, type Complaint, describeValue, type Kind, type KindContext } from '../setting-kind.js';
import type { SettingPath } from '../setting-path.js';
import { isFitText, pathFrom } from './text-kinds.js';

const KEYS = ['name', 'path'];
const LONGEST_NAME = 200;

type Complain = (at: SettingPath, message: string, isOfKey?: boolean) => void;

/** Paths or URLs of models, or maps with one and the name it is to be served by. */
export const modelList: Kind<readonly ModelSettings[]> = {
  expected: 'a list of paths of models, or of maps with name and path',
  label: 'a list of paths, or URLs, of models, or of maps with name and path',
  isList: true,
  parse(value, context) {
    const complaints: Complaint[] = [];
    const complain: Complain = (at, message, isOfKey = false) => complaints.push({ at, message, isOfKey });
    if (!Array.isArray(value)) {
      complain([], `expected ${this.expected}, got ${describeValue(value)}.`);
      return { complaints };
    }
    const models: ModelSettings[] = [];
    const nameAt = new Map<string, number>();
    for (const [i, entry] of value.entries()) {
      const model = readModel(entry, context, (at, message, isOfKey) =>
        complain([i, ...at], message, isOfKey),
      );
      if (model === undefined) continue;
      const other = nameAt.get(model.name);
      if (other !== undefined)
        complain(
          [i],
          `models[${other}] has the same name, ${model.name}. Give one of them another name: {name: …, path: …}.`,
        );
      nameAt.set(model.name, i);
      models.push(model);
    }
    return complaints.length > 0 ? { complaints } : accept(Object.freeze(models));
  },
  write: (models) => models.map(({ name, path }) => (name === nameOfModel(path) ? path : { name, path })),
};

/** `digits` for `models/digits.onnx`, `digits.py`, `digits.py:Classifier` and `grpc://host:8001/digits`. */
export function nameOfModel(path: string): string {
  if (isUrl(path)) return nameOfUpstream(parseUpstream(path));
  const file = pythonReference(path)?.file ?? path;
  return basename(file, extname(file));
}

/** Why a URL cannot be that of a model; undefined when it can. */
function whyNoModel(url: string): string | undefined {
  let address: UpstreamAddress;
  try {
    address = parseUpstream(url);
  } catch (error) {
    return (error as Error).message;
  }
  if (MODEL_KINDS.has(address.kind)) return undefined;
  return (
    `expected an upstream with the Open Inference Protocol, grpc://host:port/model or ` +
    `http://host:port/v2/models/model, or a model process, unix:///run/model.sock, got ${shownUrl(url)}, a function. Only services (upstream('…')) and workers can call it.`
  );
}

function readModel(entry: unknown, { folder }: KindContext, complain: Complain): ModelSettings | undefined {
  let path = entry;
  let name: unknown;
  let at: SettingPath = [];
  if (entry instanceof Map) {
    for (const key of entry.keys())
      if (!KEYS.includes(key))
        complain([key], `unknown key.${didYouMean(key, KEYS) || ' There are name, path.'}`, true);
    path = entry.get('path');
    name = entry.get('name');
    if (entry.has('path')) at = ['path'];
  }
  if (!isFitText(path)) {
    complain(
      at,
      `expected ${entry instanceof Map ? 'the path of a model' : 'the path of a model, or a map with name and path'}, got ${describeValue(path)}.`,
    );
    return undefined;
  }
  const wrong = isUrl(path) ? whyNoModel(path) : undefined;
  if (wrong !== undefined) {
    complain(at, wrong);
    return undefined;
  }
  const isNamed = entry instanceof Map && entry.has('name');
  if (!isNamed) name = nameOfModel(path);
  if (isFitName(name)) return Object.freeze({ name, path: isUrl(path) ? path : pathFrom(folder, path) });
  complain(
    isNamed ? ['name'] : at,
    `expected a name of at most ${LONGEST_NAME} characters without a slash, got ${describeValue(name)}.`,
  );
  return undefined;
}

/** It becomes a part of URLs. */
function isFitName(name: unknown): name is string {
  return (
    isFitText(name) && name.length <= LONGEST_NAME && !/[/\\]/.test(name) && name !== '.' && name !== '..'
  );
}
