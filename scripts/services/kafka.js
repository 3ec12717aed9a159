/**
 * An Apache Kafka broker (KRaft, one node) for nightly tests and benchmarks: its own temporary folder, free ports on
 * 127.0.0.1. It needs Java and Maven, which fetches Kafka once. Nothing is left of a broker after `stop()`, or after
 * the process that started it has ended.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findCommand, unpackedPrograms } from '../test-programs.js';
import { freePorts, spawnGuarded } from './guarded-process.js';

/**
 * @typedef {object} Kafka
 * @property {string} broker For `new Kafka({ brokers: [broker] })`.
 * @property {() => Promise<void>} stop
 */

export const KAFKA_VERSION = '3.9.1';
/** Kafka logs through SLF4J; this writes to stderr. */
const SLF4J_VERSION = '1.7.36';
const MAVEN_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const LOGGER = '-Dorg.slf4j.simpleLogger';
const JAVA_OPTIONS = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const PORT_ATTEMPTS = 5;

/** Why Kafka cannot run on this machine; undefined if it can. */
export function kafkaObstacle() {
  const missing = ['java', 'mvn'].filter((command) => findCommand(command) === undefined);
  return missing.length === 0 ? undefined : `no ${missing.join(' and no ')} on PATH`;
}

/**
 * Resolves when the broker accepts connections. It creates no topics by itself.
 *
 * @param {Readonly<Record<string, string>>} [settings] Further settings, as in server.properties.
 * @returns {Promise<Kafka>}
 */
export async function startKafka(settings = {}) {
  const obstacle = kafkaObstacle();
  if (obstacle !== undefined) throw new Error(`Kafka cannot be started: ${obstacle}`);
  const classPath = join(await jars(), '*');
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0, controllerPort = 0] = await freePorts(2);
    try {
      return await start(classPath, port, controllerPort, settings);
    } catch (error) {
      if (!String(error).includes('Address already in use') || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/**
 * @param {string} classPath
 * @param {number} port
 * @param {number} controllerPort
 * @param {Readonly<Record<string, string>>} settings
 * @returns {Promise<Kafka>}
 */
async function start(classPath, port, controllerPort, settings) {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-kafka-'));
  const file = join(folder, 'server.properties');
  const broker = `127.0.0.1:${port}`;
  const all = {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://${broker},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${broker}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    'offsets.topic.num.partitions': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    ...settings,
  };
  writeFileSync(
    file,
    Object.entries(all)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const java = [...JAVA_OPTIONS, '-cp', classPath];
  try {
    const id = 'AAAAAAAAAAAAAAAAAAAAAQ';
    await promisify(execFile)('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', id, '-c', file]);
    const levels = [`${LOGGER}.defaultLogLevel=warn`, `${LOGGER}.log.kafka.server.KafkaRaftServer=info`];
    const server = spawnGuarded('java', [...levels, ...java, 'kafka.Kafka', file], { folder });
    const stop = async () => {
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    };
    await server.line(/Kafka Server started/);
    return { broker, stop };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The folder with Kafka's jars, fetched if they are not there yet. */
async function jars() {
  const place = join(unpackedPrograms, `kafka-${KAFKA_VERSION}`);
  if (existsSync(place)) return place;
  mkdirSync(unpackedPrograms, { recursive: true });
  // Beside where it is going to be, so that it gets there by being renamed: all of it or nothing.
  const folder = mkdtempSync(join(unpackedPrograms, 'fetching-'));
  try {
    const dependency = (
      /** @type {string} */ group,
      /** @type {string} */ name,
      /** @type {string} */ version,
    ) =>
      `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
    const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>batchwise</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>
  <dependencies>
    ${dependency('org.apache.kafka', 'kafka_2.13', KAFKA_VERSION)}
    ${dependency('org.slf4j', 'slf4j-simple', SLF4J_VERSION)}
  </dependencies>
</project>
`;
    writeFileSync(join(folder, 'pom.xml'), pom);
    const options = ['-DoutputDirectory=jars', '-DincludeScope=runtime'];
    await promisify(execFile)('mvn', ['--quiet', '--batch-mode', MAVEN_GOAL, ...options], { cwd: folder });
    if (!existsSync(place)) renameSync(join(folder, 'jars'), place);
    return place;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
