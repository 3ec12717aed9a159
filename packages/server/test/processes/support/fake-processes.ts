/** Processes that a test makes ready, crashes and lets end by hand, in virtual time. */
import { VirtualClock } from 'batchwise';
import { onTestFinished } from 'vitest';
import type { ChildExit, ChildHandle } from '../../../src/processes/child-handle.js';
import type { ChildMessage, ControlMessage, ProcessKind } from '../../../src/processes/control-message.js';
import { Supervisor, type SupervisorOptions } from '../../../src/processes/supervisor.js';
import { SETTINGS } from './gated-runner.js';

export class FakeChild implements ChildHandle {
  readonly pid: number;
  readonly kind: ProcessKind;
  readonly received: ControlMessage[] = [];
  readonly signals: string[] = [];
  hasEnded = false;
  #tell: (message: unknown) => void = () => {};
  #end: (exit: ChildExit) => void = () => {};

  constructor(pid: number, kind: ProcessKind) {
    this.pid = pid;
    this.kind = kind;
  }

  send(message: ControlMessage): void {
    this.received.push(message);
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    this.end({ code: null, signal });
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#tell = listener;
  }

  /** In the middle of its start. */
  listen(): void {
    this.tell({ type: 'listening' });
  }

  onExit(listener: (exit: ChildExit) => void): void {
    this.#end = listener;
  }

  tell(message: ChildMessage): void {
    this.#tell(message);
  }

  ready(detail: unknown = undefined): void {
    if (this.received.length === 0) this.listen();
    this.tell({ type: 'ready', detail });
  }

  end(exit: Partial<ChildExit> = {}): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#end({ code: 0, signal: null, ...exit });
  }

  /** The types of the messages it got. */
  get told(): string[] {
    return this.received.map(({ type }) => type);
  }
}

export function supervised(options: Partial<SupervisorOptions> = {}) {
  const clock = new VirtualClock();
  const children: FakeChild[] = [];
  const lines: string[] = [];
  const supervisor = new Supervisor({
    runnerModule: 'runner.js',
    webModule: 'web.js',
    runners: [{ name: 'digits', settings: SETTINGS, source: 'digits.onnx' }],
    webProcesses: 1,
    webSettings: 'first',
    // They say only what a test has them say.
    mostSilentMs: Number.POSITIVE_INFINITY,
    clock,
    log: (line) => lines.push(line),
    spawn: (kind) => {
      const child = new FakeChild(children.length + 1, kind);
      children.push(child);
      return child;
    },
    ...options,
  });
  onTestFinished(() => supervisor.kill());
  const child = (index: number): FakeChild => {
    const found = children.at(index);
    if (found === undefined) throw new Error(`There are ${children.length} processes, not ${index + 1}.`);
    return found;
  };
  /** One runner process and one web process, both ready. */
  const started = async () => {
    const starting = supervisor.start();
    child(0).ready({ kind: 'model', platform: 'fake', signature: undefined });
    await clock.settle();
    child(1).ready({ port: 3000 });
    return starting;
  };
  return { supervisor, clock, children, child, lines, started };
}
