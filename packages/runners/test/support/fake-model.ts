import type { VirtualClock } from 'batchwise';
import type { InferCall, Signature, Tensor, TensorModel, Tensors } from '../../src/index.js';

export interface FakeModelOptions {
  readonly signature: Signature;
  readonly compute: (inputs: Tensors, call: InferCall) => Tensors;
  /** The duration of a call on the clock. Default: none. */
  readonly clock?: VirtualClock;
  readonly durationMs?: (inputs: Tensors) => number;
}

/** A model in this thread that records its calls. */
export class FakeModel implements TensorModel {
  readonly platform = 'fake';
  readonly calls: { readonly inputs: Tensors; readonly call: InferCall }[] = [];
  isClosed = false;
  /** If true, calls are held until they are released. */
  held: (() => void)[] | undefined = undefined;
  readonly #options: FakeModelOptions;

  constructor(options: FakeModelOptions) {
    this.#options = options;
  }

  async load(): Promise<Signature> {
    return this.#options.signature;
  }

  async infer(inputs: Tensors, call: InferCall): Promise<Tensors> {
    this.calls.push({ inputs, call });
    const { clock, durationMs, compute } = this.#options;
    if (this.held !== undefined) {
      const { held } = this;
      await new Promise<void>((resolve) => held.push(resolve));
    }
    if (clock !== undefined && durationMs !== undefined) {
      await new Promise<void>((resolve) => clock.setTimer(resolve, durationMs(inputs)));
    }
    return compute(inputs, call);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  release(): void {
    for (const resolve of this.held?.splice(0) ?? []) resolve();
  }

  /** The shapes of an input in each call. */
  shapesOf(name: string): (readonly number[])[] {
    return this.calls.map(({ inputs }) => (inputs.get(name) as Tensor).shape);
  }
}

export function floats(shape: readonly number[], values: readonly number[]): Tensor {
  return { datatype: 'FP32', shape, data: Float32Array.from(values) };
}

export function numbersOf(tensor: Tensor | undefined): number[] {
  return Array.from(tensor?.data as Float32Array, Number);
}

export const DOUBLING: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
  outputs: [
    { name: 'double', datatype: 'FP32', shape: [-1, 2] },
    { name: 'sum', datatype: 'FP32', shape: [-1] },
  ],
};

/** `double` and `sum` of rows of any width. */
export function doubled(inputs: Tensors, { outputs = ['double', 'sum'] }: InferCall): Tensors {
  const { shape, data } = inputs.get('x') as Tensor;
  const [rows = 0, width = 0] = shape;
  const values = Array.from(data as Float32Array);
  const sums = Array.from({ length: rows }, (_, row) =>
    values.slice(row * width, (row + 1) * width).reduce((sum, value) => sum + value, 0),
  );
  const answers = new Map<string, Tensor>();
  if (outputs.includes('double')) {
    const doubles = values.map((value) => 2 * value);
    answers.set('double', floats(shape, doubles));
  }
  if (outputs.includes('sum')) answers.set('sum', floats([rows], sums));
  return answers;
}
