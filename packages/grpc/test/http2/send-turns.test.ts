import { expect, test } from 'vitest';
import type { FrameWriter } from '../../src/http2/frame-writer.js';
import type { SendingStream } from '../../src/http2/http2-stream.js';
import { PeerSettings } from '../../src/http2/peer-settings.js';
import { SendTurns } from '../../src/http2/send-turns.js';

class Waiting {
  looks = 0;
  sent = 0;
  readonly isReadyToSend = true;
  readonly #needsNoWindow: boolean;

  constructor(needsNoWindow: boolean) {
    this.#needsNoWindow = needsNoWindow;
  }

  get needsNoWindow(): boolean {
    this.looks += 1;
    return this.#needsNoWindow;
  }

  sendMore(): boolean {
    this.sent += 1;
    return false;
  }

  checkDrained(): void {}

  get asStream(): SendingStream {
    return this as unknown as SendingStream;
  }
}

// Each call that came looked at all that waited: twenty thousand of them at a peer that reads nothing took seconds.
test('while there is no room, one that comes does not look at those that wait; a half-close still leaves', () => {
  const writer = { isCongested: true };
  const turns = new SendTurns(writer as FrameWriter, new PeerSettings());
  const waiting = Array.from({ length: 100 }, () => new Waiting(false));
  for (const one of waiting) turns.add(one.asStream);
  expect(Math.max(...waiting.map(({ looks }) => looks))).toBe(1);
  const ended = new Waiting(true);
  turns.add(ended.asStream);
  expect(ended.sent).toBe(1);
  expect(Math.max(...waiting.map(({ looks }) => looks))).toBe(1);
  writer.isCongested = false;
  turns.run();
  expect(waiting.map(({ sent }) => sent)).toEqual(Array(100).fill(1));
});
