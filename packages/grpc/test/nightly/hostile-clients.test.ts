/** The long version. */
import '../system/hostile-clients.test.js';
