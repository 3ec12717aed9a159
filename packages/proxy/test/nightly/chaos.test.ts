/** The long version. */
import '../system/chaos.test.js';
