/** Runs one job in this process and writes its result to stdout: `node child.js <job> <params as JSON>`. */
import { runHere } from './jobs.js';

const [name = '', params = 'null'] = process.argv.slice(2);
const result = await runHere(name, JSON.parse(params));
// Exits without waiting for the closed loops of some jobs, which still run.
process.stdout.write(JSON.stringify(result), () => process.exit(0));
