/** The long version. */
import '../system/scale.test.js';
