import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolchain } from '../../deploy/local/infrastructure/toolchain.ts';
import { describeMachine } from '../support/figures/describe-machine.ts';
import { firstLineOf, readCommit } from '../support/figures/read-version.ts';
import type { Table } from './table.ts';

export const RESULTS_FILE = 'bench-results.json';
const ROOT = join(import.meta.dirname, '..', '..');
/** The packages that affect the speed of either side. */
const PACKAGES = ['kafkajs', 'ioredis', 'express', 'ethers', 'viem', 'bullmq', '@foundry-rs/anvil'] as const;

/** This machine and its software. */
export function describeRun() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const toolchain = loadToolchain();
  const known = { ...devDependencies, ...dependencies };
  return {
    at: new Date().toISOString(),
    machine: describeMachine(),
    versions: {
      commit: readCommit(),
      node: process.version,
      kafka: toolchain.kafka.version,
      redis: /v=(\S+)/.exec(firstLineOf(toolchain.redis, ['--version'], 'redis-server'))?.[1] ?? 'unknown',
      ...Object.fromEntries(PACKAGES.map((name) => [name, known[name] ?? 'unknown'])),
    },
  };
}

/** Writes what a run has measured so far. */
export const writeResults = (
  run: ReturnType<typeof describeRun>,
  parts: Readonly<Record<string, Table>>,
): void => writeFileSync(join(ROOT, RESULTS_FILE), `${JSON.stringify({ ...run, parts }, null, 2)}\n`);
