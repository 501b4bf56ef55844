import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolchain } from '../../deploy/local/infrastructure/toolchain.ts';
import { describeMachine, type Machine } from '../support/figures/describe-machine.ts';
import { firstLineOf, readCommit } from '../support/figures/read-version.ts';
import type { Table } from './row.ts';

export const RESULTS_DIR = join(import.meta.dirname, 'results');
const LATEST_FILE = join(RESULTS_DIR, 'latest.json');
const ROOT = join(import.meta.dirname, '..', '..');
/** The packages that affect the speed of either side. */
const PACKAGES = ['kafkajs', 'ioredis', 'express', 'ethers', 'viem', '@foundry-rs/anvil'] as const;

/** The parts of a whole run, in its order. */
export const WHOLE_PARTS = [
  'chain',
  'gateway',
  'latency',
  'checks',
  'batches',
  'watches',
  'webhooks',
  'growth-ends',
  'idle',
] as const;
export type WholePart = (typeof WHOLE_PARTS)[number];

/** The stored results of `npm run bench`: the tables of the newest run, with machine and versions. */
export type Results = {
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** Each part with its end time, so that a separately run part is recognised. */
  readonly parts: Readonly<Record<string, Table & { readonly at: string }>>;
};

/** This machine and its software. */
export function describeRun(): Pick<Results, 'machine' | 'versions'> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const toolchain = loadToolchain();
  const known = { ...devDependencies, ...dependencies };
  return {
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

export const loadResults = (): Results => JSON.parse(readFileSync(LATEST_FILE, 'utf8')) as Results;

/** Replaces older results of these parts; a whole run replaces all results. */
export function writeResults(parts: Readonly<Record<string, Table>>, isWhole: boolean): Results {
  const at = new Date().toISOString();
  const fresh = Object.fromEntries(Object.entries(parts).map(([name, table]) => [name, { at, ...table }]));
  const known: Results['parts'] = { ...(isWhole ? {} : olderParts()), ...fresh };
  const inOrder = WHOLE_PARTS.flatMap((name) => (known[name] ? [[name, known[name]] as const] : []));
  const results = { ...describeRun(), parts: Object.fromEntries(inOrder) };
  writeFileSync(LATEST_FILE, `${JSON.stringify(results, null, 2)}\n`);
  return results;
}

function olderParts(): Results['parts'] {
  try {
    return loadResults().parts;
  } catch {
    return {};
  }
}
