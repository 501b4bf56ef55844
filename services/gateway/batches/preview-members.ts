import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { BatchEntry } from '#shared/contracts/batches/batch.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { refOf, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { overloaded } from '#shared/http/problem.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import { type Caller, permissionProblemOf } from '../auth/authenticate.ts';

const PAGE_MEMBERS = 500;
/** For all members of a watch: members with many roles are large, whichever roles are previewed. */
const READ_MS_MAX = 60_000;

/** The members of a watch as entries of a batch. */
type PreviewedMembers = {
  /** How many there are before they are read. */
  readonly count: number;
  /** In the order of their ref or account. */
  readonly pages: AsyncIterable<readonly BatchEntry[]>;
};

/**
 * Finds the members of a watch as entries of a batch. Their last verdicts are those on the named
 * roles.
 *
 * @returns `undefined` if the client app has no such watch
 * @throws Problem `permission-missing`, `overloaded`; ServiceError `overloaded`
 */
export type ReadMembers = (
  watchId: string,
  roleIds: ReadonlySet<string>,
) => Promise<PreviewedMembers | undefined>;

type Needs = {
  readonly watches: Pick<Watches, 'read'>;
  readonly watchMembers: Pick<WatchMembers, 'page' | 'count'>;
  /** A page may be large, so only a few are read at a time; client apps take turns. */
  readonly documentLists: FairTaskQueue;
};

export const makeReadMembers =
  (deps: Needs, caller: Caller): ReadMembers =>
  async (watchId, roleIds) => {
    const denied = permissionProblemOf(caller, 'read');
    if (denied) throw denied;
    const { app } = caller;
    if (!RULE_SET_ID.test(watchId)) return undefined;
    const watch = await deps.watches.read(app.clientId, watchId);
    if (!watch) return undefined;
    const uid = watchUid(watch);
    return { count: await deps.watchMembers.count([uid]), pages: readPages(deps, app, uid, roleIds) };
  };

async function* readPages(
  { watchMembers, documentLists }: Needs,
  app: AppAccess,
  uid: string,
  roleIds: ReadonlySet<string>,
): AsyncGenerator<readonly BatchEntry[], void> {
  const endsAt = performance.now() + READ_MS_MAX;
  let after: string | undefined;
  do {
    if (performance.now() > endsAt) throw overloaded('The members of the watch could not be read in time.');
    const page = { after, countMax: PAGE_MEMBERS };
    const { members, next } = await documentLists.run(app, () => watchMembers.page(uid, page));
    yield members.map((member) => entryOf(member, roleIds));
    after = next;
  } while (after !== undefined);
}

function entryOf(member: WatchMember, roleIds: ReadonlySet<string>): BatchEntry {
  const { wallets, roles } = member;
  const ref = refOf(member);
  const before = roles.flatMap(({ id, granted }) => (roleIds.has(id) ? [[id, granted] as const] : []));
  return {
    ...wallets,
    ...(ref === undefined ? {} : { ref }),
    ...(before.length === 0 ? {} : { before: Object.fromEntries(before) }),
  };
}
