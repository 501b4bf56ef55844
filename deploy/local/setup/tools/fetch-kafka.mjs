import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { javaNetworkOptions } from '../network.mjs';
import { report, run } from '../run.mjs';

/** Pinned, so that every Maven does the same. */
const COPY_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** Kafka's jars, fetched once per user by Maven with the machine's own settings. */
export async function fetchKafka(places, { maven }) {
  const jars = kafkaJars(places) ?? (await download(places, maven));
  return { version: places.kafkaVersion, home: places.kafka, jars };
}

/** The jars in a fixed order (the class-data archive depends on it), or undefined if they are not
 * there. */
export function kafkaJars(places) {
  const folder = join(places.kafka, 'libs');
  if (!existsSync(folder)) return undefined;
  const names = readdirSync(folder).filter((name) => name.endsWith('.jar'));
  return names.sort().map((name) => join(folder, name));
}

/** Into a folder of its own, renamed when complete: `libs` is there wholly or not at all. */
async function download(places, maven) {
  report(`fetching Kafka ${places.kafkaVersion} (Maven, about 45 MB)`);
  const draft = join(places.cache, `kafka-${places.kafkaVersion}.${process.pid}`);
  mkdirSync(draft, { recursive: true });
  try {
    writeFileSync(join(draft, 'pom.xml'), pomOf(places));
    const args = ['-B', '-q', '--strict-checksums', '-f', join(draft, 'pom.xml')];
    const goal = [COPY_GOAL, `-DoutputDirectory=${join(draft, 'libs')}`, '-DincludeScope=runtime'];
    const env = mavenEnvironment(places, draft);
    await run(maven, [...args, ...goal], { env, progress: { what: 'fetching Kafka' } });
    mkdirSync(places.kafka, { recursive: true });
    renameSync(join(draft, 'libs'), join(places.kafka, 'libs'));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return kafkaJars(places);
}

/** Java's options in a file: a proxy's password in `MAVEN_OPTS` would be in the list of
 * processes. */
function mavenEnvironment({ certificates }, draft) {
  const options = javaNetworkOptions(process.env, certificates?.jks);
  if (options.length === 0) return process.env;
  const file = join(draft, 'java.options');
  writeFileSync(file, options.map((option) => `"${option.replaceAll(/[\\"]/g, '\\$&')}"\n`).join(''), {
    mode: 0o600,
  });
  return { ...process.env, MAVEN_OPTS: `${process.env.MAVEN_OPTS ?? ''} @${file}`.trim() };
}

function pomOf({ kafkaVersion, log4jVersion }) {
  const dependency = (group, artifact, version) =>
    `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rolecall</groupId><artifactId>kafka-runtime</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    ${dependency('org.apache.kafka', 'kafka_2.13', kafkaVersion)}
    ${dependency('org.apache.logging.log4j', 'log4j-slf4j-impl', log4jVersion)}
  </dependencies>
</project>
`;
}
