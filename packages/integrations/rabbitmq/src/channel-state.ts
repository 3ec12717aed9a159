/** Whether a channel is open, and what closed it. */
import type { Channel } from 'amqplib';

export class ChannelState {
  #isClosed = false;
  #cause: unknown;

  constructor(channel: Channel, onClose: () => void = () => {}) {
    // amqplib emits 'error' before 'close', and only if the broker closed the channel.
    channel.on('error', (error: Error) => {
      this.#cause = error;
    });
    // Before the listener of amqplib, which fails what is unconfirmed: then it is known why.
    channel.prependListener('close', () => {
      this.#isClosed = true;
      onClose();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The error with which the broker closed the channel. A lost connection has none here: its own event has it. */
  get cause(): unknown {
    return this.#cause;
  }
}

/** amqplib throws this for calls on a channel that is closed or closing. */
export function isClosedError(error: unknown): boolean {
  return error instanceof Error && error.name === 'IllegalOperationError';
}
