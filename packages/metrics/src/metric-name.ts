/** Valid names in Prometheus. */

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export function validMetricName(name: string): string {
  if (METRIC_NAME.test(name)) return name;
  throw new TypeError(
    `the name of a metric must be letters, digits, _ and :, and not begin with a digit; got ${JSON.stringify(name)}`,
  );
}

/** `le` is the bucket label of histograms, and names with two leading underscores are reserved by Prometheus. */
export function validLabelName(name: string): string {
  if (LABEL_NAME.test(name) && name !== 'le' && !name.startsWith('__')) return name;
  throw new TypeError(
    `a label must be letters, digits and _, not begin with a digit or __, and not be le; got ${JSON.stringify(name)}`,
  );
}

/** Converts any text to a part of a metric name: invalid characters become underscores. */
export function asPartOfName(text: string): string {
  return text.replace(/[^a-zA-Z0-9_]/gu, '_');
}
