import { isBuiltin } from 'node:module';
import Runtime from 'jest-runtime';

/** The product changes their classes, so each suite has its own. */
const OWN_PACKAGES = /^kafkajs(\/|$)/;

/** Loads the packages of all suites of this worker, and is never torn down. */
let packages;

const isShared = (name) =>
  name !== undefined && !/^[./#]/.test(name) && !isBuiltin(name) && !OWN_PACKAGES.test(name);

/**
 * Loads packages once for each worker instead of once for each suite; the project's own files are
 * loaded anew by each suite. It needs suites that share one context (`environment.ts`), so that
 * packages and sources have the same `Error`, `Map` and timers.
 */
export default class SharedPackagesRuntime extends Runtime {
  constructor(...args) {
    packages ??= new Runtime(...args);
    super(...args);
  }

  requireModule(from, name, options, isActual) {
    if (options?.isInternalModule || !isShared(name))
      return super.requireModule(from, name, options, isActual);
    return packages.requireModule(from, name);
  }

  /** Of jest's modules only its runner, which is asked for by its path, keeps anything of a suite. */
  requireInternalModule(from, name) {
    return isShared(name)
      ? packages.requireInternalModule(from, name)
      : super.requireInternalModule(from, name);
  }
}
