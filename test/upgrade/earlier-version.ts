import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The last commit of the first release: checks in three modes, without batches, rule sets, watches and proofs. */
export const EARLIER_COMMIT = '449fd3d';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export type EarlierVersion = AsyncDisposable & {
  /** The checkout, with its own packages installed. */
  readonly root: string;
  /** A directory for its data, which is removed with it. */
  readonly dataDir: string;
};

/**
 * Checks the earlier version out into a temporary directory and prepares it as `npm start` would: packages from its own
 * lockfile, Java, Redis and Kafka as on this machine. Disposal removes it.
 *
 * @throws Error if this repository does not have the commit, with the command that fetches it
 *
 * @example
 * await using earlier = await checkOutEarlier();
 * await using system = await startSystem({ root: earlier.root });
 */
export async function checkOutEarlier(): Promise<EarlierVersion> {
  requireCommit();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-upgrade-'));
  const root = join(dir, EARLIER_COMMIT);
  const remove = (): void => {
    git('worktree', 'remove', '--force', root);
    rmSync(dir, { recursive: true, force: true });
  };
  await using scope = new AsyncDisposableStack();
  scope.defer(remove);
  // A run that is interrupted ends without disposal.
  process.once('exit', remove);
  scope.defer(() => void process.off('exit', remove));
  mkdirSync(join(dir, 'data'));
  const added = git('worktree', 'add', '--detach', root, EARLIER_COMMIT);
  if (added.status !== 0) throw new Error(`git worktree add failed: ${added.stderr}`);
  const prepared = spawnSync(process.execPath, ['deploy/local/setup.mjs'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (prepared.status !== 0) throw new Error(`${EARLIER_COMMIT} could not be prepared; its output is above`);
  const whole = scope.move();
  return { root, dataDir: join(dir, 'data'), [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

function requireCommit(): void {
  if (git('rev-parse', '--git-dir').status !== 0)
    throw new Error('the upgrade test needs a Git checkout of this repository: it starts an earlier commit');
  if (git('cat-file', '-e', `${EARLIER_COMMIT}^{commit}`).status === 0) return;
  const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() === 'true';
  throw new Error(
    `this repository does not have commit ${EARLIER_COMMIT}, the version to upgrade from` +
      (isShallow ? ': it is a shallow clone; run `git fetch --unshallow`' : ''),
  );
}

const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
