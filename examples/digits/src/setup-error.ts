/** Something the reader can put right. Its message says how, so it is shown without a stack trace. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
