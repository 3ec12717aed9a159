import { invalidOption } from '@batchwise/aws';

export function checkQueueUrl(queueUrl: unknown): void {
  if (typeof queueUrl === 'string' && URL.canParse(queueUrl)) return;
  throw invalidOption(`queueUrl: expected the URL of a queue, got ${JSON.stringify(queueUrl)}.`);
}
