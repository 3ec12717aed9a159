/** Sample data as users give it: JSON on the command line, or a file. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { LoadError } from '../load-error.js';
import type { Sample } from './target-spec.js';

/**
 * JSON text, or `@file`: `.json`, `.jsonl` with one sample a line, any other as bytes. An array in JSON is several
 * samples, anything else is one.
 *
 * @throws {LoadError} INVALID_OPTION
 */
export function readSamples(data: string): Sample[] {
  if (!data.startsWith('@')) return samplesOfJson(data, 'data');
  const file = data.slice(1);
  const bytes = contentOf(file);
  switch (extname(file).toLowerCase()) {
    case '.json':
      return samplesOfJson(bytes.toString(), file);
    case '.jsonl':
    case '.ndjson':
      return samplesOfLines(bytes.toString(), file);
    default:
      if (bytes.length === 0) throw invalid(`${file}: expected data, got an empty file.`);
      return [{ base64: bytes.toString('base64') }];
  }
}

function samplesOfJson(text: string, where: string): Sample[] {
  const json = parse(text, where);
  if (!Array.isArray(json)) return [{ json }];
  if (json.length === 0) throw invalid(`${where}: expected at least one sample, got [].`);
  return json.map((one: unknown) => ({ json: one }));
}

function samplesOfLines(text: string, file: string): Sample[] {
  const samples = text.split('\n').flatMap((line, index) => {
    return line.trim() === '' ? [] : [{ json: parse(line, `${file}:${index + 1}`) }];
  });
  if (samples.length === 0) throw invalid(`${file}: expected one sample a line, got none.`);
  return samples;
}

function parse(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const hint = where === 'data' ? ' A file is given as @file.json.' : '';
    throw invalid(`${where}: expected JSON, but ${(error as Error).message}.${hint}`, error);
  }
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw invalid(`data: ${file} cannot be read: ${(error as Error).message}.`, error);
  }
}

function invalid(message: string, cause?: unknown): LoadError {
  return new LoadError('INVALID_OPTION', message, { cause });
}
