/** Runs one job in this process and writes its result to stdout: `node child.js <job> <params as JSON>`. */
import { runHere } from './jobs.js';

const [name = '', params = 'null'] = process.argv.slice(2);
const result = await runHere(name, JSON.parse(params));
// The closed loops of some jobs are still turning: they are not worth the wait.
process.stdout.write(JSON.stringify(result), () => process.exit(0));
