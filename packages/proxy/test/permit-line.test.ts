import { VirtualClock } from 'batchwise';
import { describe, expect, it } from 'vitest';
import { type InLine, PermitLine } from '../src/backends/permit-line.js';

/** A method that sends a batch whenever it may. */
class Greedy implements InLine {
  hasWork = true;
  servedMs = 0;
  readonly #line: PermitLine;
  readonly #send: () => void;

  constructor(line: PermitLine, send: () => void) {
    this.#line = line;
    this.#send = send;
  }

  looks(): void {
    if (!this.#line.mayTake(this)) return;
    this.#send();
    this.#line.leave(this);
  }

  wake(): void {
    if (this.hasWork) this.looks();
  }
}

function stage() {
  const clock = new VirtualClock();
  const sent: string[] = [];
  let free = 1;
  const line = new PermitLine(clock, () => free);
  const method = (name: string) =>
    new Greedy(line, () => {
      free -= 1;
      sent.push(name);
    });
  const free1 = () => {
    free += 1;
    line.wake();
  };
  return { clock, sent, method, free1 };
}

describe('methods that wait for a permit', () => {
  // The method whose batch had just ended was asked first, and took the permit again: a busy one kept out all others.
  it('take turns: who has just had one stands behind those who wait', async () => {
    const { clock, sent, method, free1 } = stage();
    const [busy, second, third] = [method('busy'), method('second'), method('third')];
    busy.looks();
    second.looks();
    third.looks();
    for (let batch = 0; batch < 5; batch++) {
      free1();
      busy.looks(); // asked before those in line are woken
      await clock.advance(1);
      if (batch === 0) second.hasWork = false;
    }
    expect(sent).toEqual(['busy', 'second', 'third', 'busy', 'busy', 'busy']);
  });

  it('who wants none any more makes way for those behind', async () => {
    const { clock, sent, method, free1 } = stage();
    const [first, second, third] = [method('first'), method('second'), method('third')];
    for (const each of [first, second, third]) each.looks();
    second.hasWork = false;
    free1();
    await clock.advance(1);
    expect(sent).toEqual(['first', 'third']);
  });

  it('the method goes first in which the tenant waits that was served least', async () => {
    const { clock, sent, method, free1 } = stage();
    const [a, b, c] = [method('a'), method('b'), method('c')];
    a.servedMs = 10;
    b.servedMs = 30;
    c.servedMs = 20;
    for (const each of [a, b, c]) each.looks();
    a.servedMs = 40;
    a.looks();
    for (let batch = 0; batch < 3; batch++) {
      free1();
      await clock.advance(1);
    }
    expect(sent).toEqual(['a', 'c', 'b', 'a']);
  });

  it('as many go as permits are free', async () => {
    const { clock, sent, method, free1 } = stage();
    for (const name of ['a', 'b', 'c', 'd']) method(name).looks();
    free1();
    free1();
    await clock.advance(1);
    expect(sent).toEqual(['a', 'b', 'c']);
  });
});
