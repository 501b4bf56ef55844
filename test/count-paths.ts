import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveImport } from './support/judges/resolve-import.ts';

// How many files somebody must open to know all that happens on one path: the files that hold its
// handlers and adapters, and all that they import as values, directly or through others.
// `npm run count` prints the numbers; those of the later paths leave out the files of a sync check.

const ROOT = join(import.meta.dirname, '..');

/** The files where a step of a path begins, or that only a composition root connects to it. */
export const PATHS: Record<string, readonly string[]> = {
  'sync check': [
    'services/gateway/checks/accept-check.ts',
    'services/gateway/checks/await-result.ts',
    'services/gateway/checks/publish-check.ts',
    'shared/stores/checks/admit.ts',
    'shared/stores/apps/client-apps.ts',
    'shared/kafka/connect.ts',
    'services/evaluator/lanes/evaluate.ts',
    'services/evaluator/lanes/sign-proof.ts',
    'services/evaluator/chain/connect-chains.ts',
    'services/result-store/project/handle-result.ts',
    'shared/stores/checks/results.ts',
  ],
  'batch part': [
    'services/gateway/batches/accept-batch.ts',
    'services/evaluator/lanes/evaluate.ts',
    'services/result-store/project/handle-part.ts',
    'shared/stores/batches/batches.ts',
  ],
  'watch transfer': [
    'services/evaluator/lanes/follow-transfers.ts',
    'services/evaluator/chain/logs/follow-chains.ts',
    'services/watcher/transfers/handle-transfer.ts',
    'services/watcher/members/handle-evaluated.ts',
    'shared/stores/watches/watches.ts',
    'shared/stores/watches/members/watch-members.ts',
  ],
  webhook: [
    'services/webhook-dispatcher/deliver-webhook.ts',
    'shared/stores/webhooks/deliveries.ts',
    'shared/stores/webhooks/webhook-bodies.ts',
  ],
};

const VALUE_IMPORT = /^(?:import|export)\s+(?!type\b)([^;]*?)\s*from\s+'([^']+)'|^import\s+'([^']+)'/gm;

/** Whether a clause such as `{ type A, type B }` names types alone. */
const namesTypesAlone = (clause: string): boolean =>
  /^\{[^}]*\}$/.test(clause) &&
  clause
    .slice(1, -1)
    .split(',')
    .filter((name) => name.trim() !== '')
    .every((name) => name.trim().startsWith('type '));

function importsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return [...text.matchAll(VALUE_IMPORT)].flatMap(([, clause, from, bare]) => {
    if (clause !== undefined && namesTypesAlone(clause)) return [];
    const target = resolveImport(path, from ?? bare ?? '');
    return /^(services|shared)\//.test(target) ? [target] : [];
  });
}

/** Every file that the given ones reach by value imports, themselves included. */
export function reach(entries: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const target of importsOf(path)) visit(target);
  };
  for (const entry of entries) visit(entry);
  return reached;
}

const linesOf = (paths: Iterable<string>): number =>
  [...paths].reduce((sum, path) => sum + readFileSync(join(ROOT, path), 'utf8').split('\n').length - 1, 0);

if (process.argv[1] === import.meta.filename) {
  const check = reach(PATHS['sync check'] ?? []);
  for (const [name, entries] of Object.entries(PATHS)) {
    const own = name === 'sync check' ? check : reach(entries).difference(check);
    process.stdout.write(`${name.padEnd(16)} ${own.size} files, ${linesOf(own)} lines\n`);
  }
}
