import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { kafkaJars } from './fetch-kafka.mjs';
import { aptPackages, installByApt, mayInstall } from './install-tools.mjs';

/** Kafka 4 needs Java 17; the views use commands of Redis 7. */
const JAVA_MAJOR_MIN = 17;
const REDIS_MAJOR_MIN = 7;

/**
 * Finds Java, Redis and, while Kafka's jars are not there yet, Maven. What is missing is installed where
 * that is allowed; otherwise one error names all of it.
 */
export async function ensureTools(places) {
  let tools = findTools(places);
  if (missingOf(tools).length > 0 && mayInstall()) {
    await installByApt(missingOf(tools));
    tools = findTools(places);
  }
  const missing = missingOf(tools);
  if (missing.length > 0) throw new Error(describe(missing));
  return tools;
}

function findTools(places) {
  const needsMaven = kafkaJars(places) === undefined;
  return { java: findJava(), redis: findRedis(), maven: needsMaven ? findOnPath('mvn') : null };
}

const missingOf = (tools) => Object.keys(tools).filter((name) => tools[name] === undefined);

function describe(missing) {
  const names = {
    java: `a Java runtime, version ${JAVA_MAJOR_MIN} or later (for Kafka)`,
    maven: 'Maven (it fetches Kafka)',
    redis: `Redis, version ${REDIS_MAJOR_MIN} or later`,
  };
  const brew = { java: 'openjdk@21', maven: 'maven', redis: 'redis' };
  const command =
    process.platform === 'darwin'
      ? `brew install ${missing.map((name) => brew[name]).join(' ')}`
      : `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${aptPackages(missing).join(' ')}`;
  return `missing: ${missing.map((name) => names[name]).join('; ')}.\nTo install: ${command}`;
}

function findJava() {
  const homes = [process.env.JAVA_HOME, ...listFolder('/usr/lib/jvm')].filter(Boolean);
  const candidates = [
    process.env.JAVA_HOME && join(process.env.JAVA_HOME, 'bin', 'java'),
    findOnPath('java'),
    ...homes.map((home) => join(home, 'bin', 'java')),
  ];
  return candidates.find((file) => file && isProgram(file) && javaMajor(file) >= JAVA_MAJOR_MIN);
}

function javaMajor(java) {
  const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  return Number(/version "(\d+)/.exec(stderr ?? '')?.[1] ?? 0);
}

/**
 * Debian's `redis-tools` has the server's binary under another name and without a system service:
 * `redis-check-rdb` is the server when it is started as `redis-server`.
 */
function findRedis() {
  const candidates = [findOnPath('redis-server'), findOnPath('redis-check-rdb')];
  return candidates.find((file) => file && redisMajor(file) >= REDIS_MAJOR_MIN);
}

function redisMajor(redis) {
  const { stdout } = spawnSync(redis, ['--version'], { argv0: 'redis-server', encoding: 'utf8' });
  return Number(/Redis server v=(\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}

function findOnPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function listFolder(folder) {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}
