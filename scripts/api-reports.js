/**
 * The public API of each package as a file, `etc/api/<package>.api.md`, so that a change of it is seen in review.
 *
 *     npm run api              write the files
 *     npm run api -- --check   exit with 1 if a file does not match the build
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const root = fileURLToPath(new URL('../', import.meta.url));
const reports = join(root, 'etc/api');
const reportTempFolder = mkdtempSync(join(tmpdir(), 'batchwise-api-'));
const isCheck = process.argv.includes('--check');

mkdirSync(reports, { recursive: true });
const folders = ['packages', 'packages/integrations']
  .flatMap((group) => readdirSync(join(root, group)).map((name) => join(root, group, name)))
  .filter((folder) => existsSync(join(folder, 'dist/index.d.ts')));
for (const folder of folders) report(folder);
rmSync(reportTempFolder, { recursive: true });

/** @param {string} folder */
function report(folder) {
  const packageJsonFullPath = join(folder, 'package.json');
  const { name } = JSON.parse(readFileSync(packageJsonFullPath, 'utf8'));
  const reportFileName = `${name.replace('@', '').replace('/', '-')}.api.md`;
  const extractorConfig = ExtractorConfig.prepare({
    packageJsonFullPath,
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, 'dist/index.d.ts'),
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: 'nodenext',
            lib: ['es2023', 'esnext.disposable', 'dom'],
            types: ['node'],
            strict: true,
            skipLibCheck: true,
          },
          files: [join(folder, 'dist/index.d.ts')],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName,
        reportFolder: reports,
        reportTempFolder,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
    },
  });
  const { apiReportChanged } = Extractor.invoke(extractorConfig, {
    localBuild: !isCheck,
    messageCallback: (message) => {
      message.handled = true;
    },
  });
  if (apiReportChanged && isCheck) {
    console.error(`etc/api/${reportFileName} does not match the build: run npm run api and commit the file.`);
    process.exitCode = 1;
  }
}
