/** Every step of deploy/Dockerfile, with its installation and compilation. */
import '../system/image.test.js';
