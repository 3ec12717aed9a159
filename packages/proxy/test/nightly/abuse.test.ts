/** The long version. */
import '../system/abuse.test.js';
