import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { explainOldJava, JAVA_MAJOR_MIN, readJavaMajor } from './choose-java.mjs';
import { kafkaJars } from './fetch-kafka.mjs';
import { findBrowser } from './find-browser.mjs';
import { findOnPath, isProgram } from './find-program.mjs';
import { aptPackages, installByApt, mayInstall } from './install-tools.mjs';

/** The views use commands of Redis 7. */
const REDIS_MAJOR_MIN = 7;

/**
 * Finds Java, Redis, while Kafka's jars are not there yet Maven, and on request a Chromium. Missing
 * tools are installed where that is allowed; otherwise one error names all of it.
 */
export async function ensureTools(places, wanted) {
  let tools = findTools(places, wanted);
  if (missingOf(tools).length > 0 && mayInstall()) {
    await installByApt(places, missingOf(tools));
    tools = findTools(places, wanted);
  }
  const missing = missingOf(tools);
  if (missing.length > 0) throw new Error(describe(missing));
  return tools;
}

/** Absent: undefined; not needed: null. An installed browser is recorded even if it is not
 * needed. */
function findTools(places, { browser }) {
  const needsMaven = kafkaJars(places) === undefined;
  return {
    java: findJava(),
    redis: findRedis(),
    maven: needsMaven ? findOnPath('mvn') : null,
    browser: findBrowser() ?? (browser ? undefined : null),
  };
}

const missingOf = (tools) => Object.keys(tools).filter((name) => tools[name] === undefined);

function describe(missing) {
  const names = {
    java: `a Java runtime, version ${JAVA_MAJOR_MIN} or later (for Kafka)`,
    maven: 'Maven (it fetches Kafka)',
    redis: `Redis, version ${REDIS_MAJOR_MIN} or later`,
    browser: 'Chromium or Chrome (for the tests; CHROME_PATH may name one)',
  };
  const brew = { java: 'openjdk@21', maven: 'maven', redis: 'redis', browser: '--cask chromium' };
  const command =
    process.platform === 'darwin'
      ? `brew install ${missing.map((name) => brew[name]).join(' ')}`
      : `sudo apt-get update && sudo apt-get install -y --no-install-recommends ${aptPackages(missing).join(' ')}`;
  const old = missing.includes('java') ? explainOldJava(javaPrograms().map(javaMajor).filter(Boolean)) : '';
  return `missing: ${missing.map((name) => names[name]).join('; ')}.${old && `\n${old}`}\nTo install: ${command}`;
}

const findJava = () => javaPrograms().find((file) => javaMajor(file) >= JAVA_MAJOR_MIN);

function javaPrograms() {
  const homes = [process.env.JAVA_HOME, ...listFolder('/usr/lib/jvm')].filter(Boolean);
  const candidates = [
    process.env.JAVA_HOME && join(process.env.JAVA_HOME, 'bin', 'java'),
    findOnPath('java'),
    ...homes.map((home) => join(home, 'bin', 'java')),
  ];
  return candidates.filter((file) => file && isProgram(file));
}

function javaMajor(java) {
  const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  return readJavaMajor(stderr ?? '');
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

function listFolder(folder) {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}
