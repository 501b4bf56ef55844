import { isBuiltin } from 'node:module';
import Runtime from 'jest-runtime';

/** The product changes their classes, so each suite has its own. */
const OWN_PACKAGES = /^kafkajs(\/|$)/;

/** Loads the packages of all suites of this worker, and is never torn down. */
let packages: Runtime | undefined;

/**
 * Loads packages once for each worker instead of once for each suite; the project's own files are
 * loaded anew by each suite. It needs suites that share one context, so that packages and sources
 * have the same `Error`, `Map` and timers.
 */
export default class SharedPackagesRuntime extends Runtime {
  constructor(...args: ConstructorParameters<typeof Runtime>) {
    packages ??= new Runtime(...args);
    super(...args);
  }

  override requireModule<T = unknown>(...args: Parameters<Runtime['requireModule']>): T {
    const [from, name, options] = args;
    if (!packages || options?.isInternalModule || !isShared(name)) return super.requireModule<T>(...args);
    return packages.requireModule<T>(from, name);
  }
}

const isShared = (name: string | undefined): name is string =>
  name !== undefined && !/^[./#]/.test(name) && !isBuiltin(name) && !OWN_PACKAGES.test(name);
