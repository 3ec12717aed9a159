/** Passes what a process prints to the log, line by line. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Longer lines are split, so that output without line breaks does not fill the memory. */
const MAX_LINE_LENGTH = 16 * 1024;

export function logLines(stream: Readable, log: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  const write = (line: string) => {
    if (line.trim() !== '') log(line.trimEnd());
  };
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) write(line);
    if (rest.length < MAX_LINE_LENGTH) return;
    write(rest);
    rest = '';
  });
  stream.on('end', () => write(rest + decoder.end()));
}
