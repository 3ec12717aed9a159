/** Reads the curve of `--curve`: a file, or one of several curves in a file, such as `h200.json#resnet50`. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type Curve, curveNoise, parseCurve, parseCurveText } from '@batchwise/arena';
import { Failure } from '../terminal/failure.js';
import { readNamedFile } from '../terminal/files.js';

export interface CurveInput {
  readonly curve: Curve;
  /** The noise of the durations, if the file has percentiles. */
  readonly noise: number | undefined;
}

const FLAG = '--curve';

export async function readCurve(argument: string, maxBatchSize: number | undefined): Promise<CurveInput> {
  const { path, name } = parted(argument);
  const text = await readNamedFile(FLAG, path);
  const content = contentOf(text);
  const names = namesOf(content);
  if (name !== undefined) {
    if (!names.includes(name))
      throw new Failure(`${FLAG}: ${path} has no curve ${name}. ${listOf(names, path)}`);
    const chosen = (content as Record<string, unknown>)[name];
    return { curve: { ...parseCurve(chosen, argument), name }, noise: curveNoise(chosen) };
  }
  if (names.length > 1)
    throw new Failure(`${FLAG}: ${path} has ${names.length} curves, not one. ${listOf(names, path)}`);
  // A table has a largest size, a formula does not.
  const options = typeof content === 'string' ? { maxBatchSize: maxBatchSize ?? 64 } : {};
  const curve = parseCurveText(text, path, options);
  // A formula is named after its text.
  const shown = curve.name === path ? basename(path) : curve.name;
  return { curve: { ...curve, name: shown }, noise: curveNoise(content) };
}

function parted(argument: string): { readonly path: string; readonly name: string | undefined } {
  const at = argument.lastIndexOf('#');
  if (at === -1 || existsSync(argument)) return { path: argument, name: undefined };
  return { path: argument.slice(0, at), name: argument.slice(at + 1) };
}

/** Undefined for invalid JSON, which the parser of curves reports with its position. */
function contentOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The names of the curves in a file that has several. */
function namesOf(content: unknown): string[] {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return [];
  const isTable = (value: unknown) => typeof value === 'object' && value !== null && !('p50_ms' in value);
  return Object.entries(content).every(([key, value]) => !(Number(key) > 0) && isTable(value))
    ? Object.keys(content)
    : [];
}

function listOf(names: readonly string[], path: string): string {
  if (names.length === 0) return `It has one curve, without a name: ${FLAG} ${path}.`;
  return `It has ${names.join(', ')}. Name one: ${FLAG} ${path}#${names[0]}.`;
}
