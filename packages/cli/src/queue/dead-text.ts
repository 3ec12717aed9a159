/** Dead letters as text and as JSON. */
import type { DeadLetter } from '@batchwise/redis';
import { textTable } from '../terminal/text-table.js';

/** Width of a payload if the width of the terminal is unknown. */
const PAYLOAD_WIDTH = 60;
const LEAST_WIDTH = 20;

/** One line per letter, truncated to the columns of the terminal. */
export function lettersTable(letters: readonly DeadLetter[], columns: number | undefined): string[] {
  const rows = letters.map((letter) => [
    letter.id,
    letter.diedAt.toISOString(),
    String(letter.deliveries),
    letter.priority,
  ]);
  const titles = [
    { title: 'id' },
    { title: 'died' },
    { title: 'deliveries', align: 'right' as const },
    { title: 'priority' },
  ];
  const used = (textTable(titles, rows)[0] ?? '').length;
  const idWidth = Math.max(...rows.map(([id = '']) => id.length));
  const taken = used + Math.max(0, idWidth - 'id'.length) + 'YYYY-MM-DDTHH:MM:SS.sssZ'.length;
  const room = columns === undefined ? PAYLOAD_WIDTH : Math.max(LEAST_WIDTH, columns - taken);
  return textTable(
    [...titles, { title: 'payload' }],
    rows.map((row, i) => [...row, cut(payloadText(letters[i]?.payload), room)]),
  );
}

export function letterJson(letter: DeadLetter): Record<string, unknown> {
  const { payload } = letter;
  return {
    id: letter.id,
    died_at: letter.diedAt.toISOString(),
    submitted_at: letter.submittedAt.toISOString(),
    deliveries: letter.deliveries,
    priority: letter.priority,
    client: letter.client,
    number: letter.number,
    original_id: letter.originalId,
    ...(payload instanceof Uint8Array
      ? { payload_base64: Buffer.from(payload).toString('base64') }
      : { payload }),
  };
}

function payloadText(payload: unknown): string {
  if (payload instanceof Uint8Array) return `${payload.length} bytes`;
  return JSON.stringify(payload) ?? String(payload);
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
