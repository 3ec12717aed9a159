/** The long version. */
import '../system/hostile-peers.test.js';
