/** Every page of the site in a browser. */
import '../system/site.test.js';
