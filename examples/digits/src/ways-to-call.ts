/** The two ways of calling the model that are compared. To the caller they look the same. */
import { Batcher, onBatch } from 'batchwise';
import type { DigitsModel } from './digits-model.js';

export interface WayToCall {
  classify(digit: Float32Array): Promise<number | undefined>;
  close(): Promise<void>;
}

/** Is told the size of every batch when the model has answered it. */
export type BatchSizeListener = (size: number) => void;

export function oneByOne(model: DigitsModel, onBatchSize: BatchSizeListener): WayToCall {
  return {
    async classify(digit) {
      const [label] = await model.classify([digit]);
      onBatchSize(1);
      return label;
    },
    async close() {},
  };
}

export function throughBatcher(
  model: DigitsModel,
  onBatchSize: BatchSizeListener,
  maxBatchSize: number,
): WayToCall {
  const batcher = new Batcher((digits: Float32Array[]) => model.classify(digits), {
    name: 'digits',
    maxBatchSize,
  });
  const stopListening = onBatch(({ size }) => onBatchSize(size));
  return {
    classify: (digit) => batcher.submit(digit),
    async close() {
      await batcher.close();
      stopListening();
    },
  };
}
