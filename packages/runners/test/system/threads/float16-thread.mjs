/**
 * The program of the threads as it is on a Node that has an array for 16-bit floats: like the real one, it is
 * no array of unsigned integers, which is all that the runtime can read them from.
 */
globalThis.Float16Array = class Float16Array extends Int16Array {};
await import('../../../dist/onnx-thread.js');
