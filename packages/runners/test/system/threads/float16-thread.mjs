/**
 * The thread program on a Node with a Float16Array. Like the real one, it is not an array of unsigned integers, which
 * is the only type that the runtime can read 16-bit floats from.
 */
globalThis.Float16Array = class Float16Array extends Int16Array {};
await import('../../../dist/onnx-thread.js');
