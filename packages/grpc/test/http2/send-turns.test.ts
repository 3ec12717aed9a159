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

class Sender implements SendingStream {
  readonly id = 1;
  readonly isReadyToSend = true;
  looks = 0;
  sent = 0;
  onSent: () => void = () => {};
  readonly #turns: SendTurns;
  readonly #isFree: boolean;

  constructor(turns: SendTurns, isFree: boolean) {
    this.#turns = turns;
    this.#isFree = isFree;
  }

  get needsNoWindow(): boolean {
    this.looks += 1;
    return this.#isFree && this.sent === 0;
  }

  sendMore(): boolean {
    this.sent += 1;
    if (!this.#isFree) this.#turns.sent(this.#turns.sendableBytes);
    this.onSent();
    return !this.#isFree;
  }

  widen(): boolean {
    return true;
  }

  checkDrained(): void {}
}

const freeWriter = { isCongested: false } as FrameWriter;

// A client that opened the window of the connection byte by byte had us look at all thousand streams for each of them.
test('a window that is opened a little has only those looked at who can use it', () => {
  const turns = new SendTurns(freeWriter, new PeerSettings());
  const waiting = Array.from({ length: 100 }, () => new Sender(turns, false));
  turns.sent(turns.sendableBytes);
  while (turns.sendableBytes > 0) turns.sent(turns.sendableBytes);
  for (const one of waiting) turns.add(one);
  const before = waiting.reduce((sum, { looks }) => sum + looks, 0);
  for (let i = 0; i < 50; i++) {
    turns.widen(1);
    turns.runInWindow();
  }
  expect(waiting.map(({ sent }) => sent)).toEqual([...Array(50).fill(1), ...Array(50).fill(0)]);
  expect(waiting.reduce((sum, { looks }) => sum + looks, 0) - before).toBeLessThanOrEqual(100);
});

test('who comes while others send, and needs no window, is not left behind when they have used it up', () => {
  const turns = new SendTurns(freeWriter, new PeerSettings());
  const newcomer = new Sender(turns, true);
  const first = new Sender(turns, false);
  first.onSent = () => {
    first.onSent = () => {};
    while (turns.sendableBytes > 0) turns.sent(turns.sendableBytes);
    turns.add(newcomer);
  };
  turns.add(first);
  expect(newcomer.sent).toBe(1);
});
