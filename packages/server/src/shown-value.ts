/** How error messages speak of what came: the same words in all packages. */
export { quoted, quotedList, shownValue } from '@batchwise/runners';
