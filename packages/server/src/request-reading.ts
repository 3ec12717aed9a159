/** What the codec of the protocol finds wrong with a message is wrong with a request here. */
import { MessageError } from '@batchwise/runners';
import { badRequest, RequestError } from './request-error.js';

/** Runs what reads a request, or a part of one. */
export function readingRequest<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MessageError)) throw error;
    if (error.isTooLarge) {
      const message = error.detail.replace(/\.$/, ' (see server.limits.body_bytes).');
      throw new RequestError('TOO_LARGE', message, { where: error.where });
    }
    throw badRequest(error.where, error.detail);
  }
}
