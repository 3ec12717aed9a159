/** The names that Prometheus takes. */

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export function validMetricName(name: string): string {
  if (METRIC_NAME.test(name)) return name;
  throw new TypeError(
    `the name of a metric must be letters, digits, _ and :, and not begin with a digit; got ${JSON.stringify(name)}`,
  );
}

/** `le` is what the buckets of histograms go by, and two underscores at the front are Prometheus' own. */
export function validLabelName(name: string): string {
  if (LABEL_NAME.test(name) && name !== 'le' && !name.startsWith('__')) return name;
  throw new TypeError(
    `a label must be letters, digits and _, not begin with a digit or __, and not be le; got ${JSON.stringify(name)}`,
  );
}

/** Any text as part of a metric's name: all that may not be in one becomes an underscore. */
export function asPartOfName(text: string): string {
  return text.replace(/[^a-zA-Z0-9_]/gu, '_');
}
