/** Served beside the modules of the page, as it comes. */
export { default } from 'uplot';
