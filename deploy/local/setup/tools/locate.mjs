import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The broker's version, and log4j's binding in the version of the log4j-core that it pulls in. */
const KAFKA_VERSION = '4.3.1';
const LOG4J_VERSION = '2.25.4';

/** Where everything is: the project, its packages, the cache that all checkouts of this user
 * share. */
export function locate(env = process.env) {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..');
  const modules = join(root, 'node_modules');
  const cache = join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rolecall');
  return {
    root,
    modules,
    binaries: join(modules, '.bin'),
    lockfile: join(root, 'package-lock.json'),
    installedLockfile: join(modules, '.package-lock.json'),
    stamp: join(modules, '.rolecall-setup.json'),
    cache,
    kafka: join(cache, `kafka-${KAFKA_VERSION}`),
    kafkaVersion: KAFKA_VERSION,
    log4jVersion: LOG4J_VERSION,
  };
}
