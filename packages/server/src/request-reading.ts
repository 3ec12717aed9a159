/** What the codec of the protocol finds wrong with a message is wrong with a request here. */
import { MessageError } from '@batchwise/runners';
import { badRequest } from './request-error.js';

/** Runs what reads a request, or a part of one. */
export function readingRequest<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof MessageError ? badRequest(error.where, error.detail) : error;
  }
}
