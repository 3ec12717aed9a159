/** The long version. */
import '../system/abuse-memory.test.js';
