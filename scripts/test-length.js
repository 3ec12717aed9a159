/** Tests that have a long version: the same file, with other counts, in `npm test` and in `npm run test:nightly`. */
const isNightly = process.env.TEST_LENGTH === 'long';

/**
 * A count for `npm test`, where the whole file takes seconds, and one for the nightly suite.
 *
 * @param {number} short
 * @param {number} long
 */
export function shortOrLong(short, long) {
  return isNightly ? long : short;
}
