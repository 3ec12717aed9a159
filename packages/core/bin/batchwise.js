#!/usr/bin/env node
// Starts the command of @batchwise/cli where it is installed: beside this package, or in the project of this folder.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const main = findCommand();
if (main !== undefined) await import(pathToFileURL(main).href);
else {
  console.error(`error: the batchwise command is in the package @batchwise/cli, which is not installed here.

  In a project:   npm install batchwise @batchwise/cli
  On the machine: npm install --global batchwise @batchwise/cli
  Only once:      npx ${['@batchwise/cli', ...process.argv.slice(2)].map(quoted).join(' ')}

ONNX models also need: npm install --ignore-scripts onnxruntime-node@1.30`);
  process.exitCode = 1;
}

/** @returns {string | undefined} */
function findCommand() {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(createRequire(from).resolve('@batchwise/cli/package.json'), '../bin/batchwise.js');
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}

/** @param {string} argument */
function quoted(argument) {
  return /^[\w@/.:=,-]+$/.test(argument) ? argument : `'${argument}'`;
}
