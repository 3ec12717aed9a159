/**
 * Builds an image of a Dockerfile in a folder, without an engine: COPY copies, RUN runs the command of the Dockerfile
 * itself. Paths of the image are those below the folder; in commands they are recognised by their first part.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { constants, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import dockerignore from '@balena/dockerignore';
import { type Copy, DockerfileParser } from 'dockerfile-ast';

/** What a container of the image starts with. */
export interface Image {
  /** The folder that stands for `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthcheck: readonly string[];
}

export interface ImageBuildOptions {
  /** An empty folder that users other than this one can enter. */
  readonly folder: string;
  readonly context: string;
  readonly dockerfile: string;
  /** Commands that are not run, and what makes up for them, in the folder of the working directory. */
  readonly shortcuts?: ReadonlyMap<string, (folder: string) => void>;
}

const execute = promisify(execFile);

const NOTHING = { workdir: '/', env: {}, user: '0:0', entrypoint: [], cmd: [], healthcheck: [] };

type Stage = { -readonly [Key in keyof Image]: Image[Key] };

/** The folders of images in this repository. */
const IMAGE_PATH = /(?<![\w./])\/(app|build|models|node_modules|usr\/local\/bin)(?![\w-])/g;

/** The last stage. */
export async function buildImage({
  folder,
  context,
  dockerfile,
  shortcuts,
}: ImageBuildOptions): Promise<Image> {
  const stages = new Map<string, Stage>();
  let stage: Stage = { root: folder, ...NOTHING };
  for (const instruction of DockerfileParser.parse(readFileSync(dockerfile, 'utf8')).getInstructions()) {
    const keyword = instruction.getKeyword();
    const text = (instruction.getArgumentsContent() ?? '').replace(/\s+/g, ' ').trim();
    switch (keyword) {
      case 'FROM': {
        const [, base = '', name = 'last'] = /^(\S+)(?: AS (\S+))?$/.exec(text) ?? [];
        const parent = stages.get(base);
        stage = parent ? { ...parent } : { ...NOTHING, root: join(folder, name) };
        stages.set(name, stage);
        break;
      }
      case 'WORKDIR':
        stage.workdir = text;
        mkdirSync(join(stage.root, text), { recursive: true });
        break;
      case 'COPY':
        await copy(instruction as Copy, text, stage, stages, context);
        break;
      case 'RUN':
        await run(text, stage, shortcuts);
        break;
      case 'ENV':
        for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g)) {
          const path = `${stage.root}/usr/local/bin:/usr/bin:/bin`;
          stage.env = {
            ...stage.env,
            [name]: value.replace(IMAGE_PATH, `${stage.root}/$1`).replace('$PATH', path),
          };
        }
        break;
      case 'USER':
        stage.user = text;
        break;
      case 'ENTRYPOINT':
        stage.entrypoint = JSON.parse(text);
        break;
      case 'CMD':
        stage.cmd = JSON.parse(text);
        break;
      case 'HEALTHCHECK':
        stage.healthcheck = JSON.parse(text.slice(text.indexOf('[')));
        break;
      case 'ARG':
      case 'EXPOSE':
      case 'LABEL':
        break;
      default:
        throw new Error(`${dockerfile}: ${keyword} is not known here`);
    }
  }
  // As of the base image: this Node, where every user may run it.
  const bin = join(stage.root, 'usr/local/bin');
  await mkdir(bin, { recursive: true });
  await copyFile(process.execPath, join(bin, 'node'), constants.COPYFILE_FICLONE);
  return stage;
}

/** A process of a container of the image. As its user where this process may change to another one. */
export function startContainer(
  { root, workdir, env, user }: Image,
  [command = '', ...args]: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): ChildProcess {
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  const isRoot = process.getuid?.() === 0;
  const all = { ...env, ...variables };
  return spawn(command, args, {
    cwd: join(root, workdir),
    env: all,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isRoot ? { uid, gid } : {}),
  });
}

async function copy(
  instruction: Copy,
  text: string,
  stage: Stage,
  stages: ReadonlyMap<string, Stage>,
  context: string,
): Promise<void> {
  const [source = '', target = ''] = text.split(' ');
  const destination = join(stage.root, target.startsWith('/') ? '' : stage.workdir, target);
  const from = instruction.getFromFlag()?.getValue();
  if (from === undefined) {
    for (const path of contextFiles(context)) await copyPath(join(context, path), join(destination, path));
    return;
  }
  await copyPath(join(stages.get(from ?? '')?.root ?? '', source), destination);
}

async function copyPath(source: string, destination: string): Promise<void> {
  await mkdir(dirname(destination), { recursive: true });
  await cp(source, destination, { recursive: true, verbatimSymlinks: true });
}

/** What the engine gets: the files that .dockerignore leaves in. */
export function contextFiles(context: string): string[] {
  // Its types say that it has a default export; it is the function itself.
  const create = dockerignore as unknown as typeof dockerignore.default;
  const ignore = create().add(readFileSync(join(context, '.dockerignore'), 'utf8'));
  return ignore.filter(filesBelow(context));
}

/** All but those of folders that may hold very many, which .dockerignore must name. */
function filesBelow(folder: string, below = ''): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    if (!entry.isDirectory()) return path;
    return ['.git', 'node_modules'].includes(entry.name) ? join(path, 'HEAD') : filesBelow(folder, path);
  });
}

async function run(
  command: string,
  { root, workdir, user, env }: Stage,
  shortcuts: ImageBuildOptions['shortcuts'],
): Promise<void> {
  if (user === '0:0' && command.startsWith('apt-get ')) return; // of a stage that is not built here
  const cwd = join(root, workdir);
  const shortcut = shortcuts?.get(command);
  if (shortcut) {
    shortcut(cwd);
    return;
  }
  await execute('sh', ['-ec', command.replace(IMAGE_PATH, `${root}/$1`)], {
    cwd,
    env: { ...process.env, ...env, npm_config_prefer_offline: 'true' },
  });
}
