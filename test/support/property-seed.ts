/**
 * Properties go through the same cases every time, so that what was green stays green until something changes.
 * `npm run fuzz` goes new ways.
 */
import fc from 'fast-check';

const { PROPERTY_SEED = '1' } = process.env;

fc.configureGlobal({ seed: Number(PROPERTY_SEED) });
