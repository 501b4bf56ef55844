import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { TierLimits } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { isSurelyUnwritten, ServiceError } from '#shared/errors.ts';
import type { AccountBytes } from '#shared/fairness/account-bytes.ts';
import type { LeasedSlot, LeasedSlots } from '#shared/fairness/leased-slots.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type AuditTrail, auditMissing, makeRecordAudit } from '../audit/audit-trail.ts';
import { liveOf, type VersionedDocuments } from './versioned-documents.ts';

/** Longer than a publish may take, so two writers never hold the same version. */
const LEASE_MS = 10_000;
const TIMEOUTS_MS = { publish: 8_000, wait: 12_000 } as const;
/** Delay between two attempts, plus up to as much again at random, so that waiting writers do not
 * retry in step. */
const RETRY_MS = 15;

type Versioned = { readonly version: number };

export type DocumentStore<D extends Versioned> = {
  readonly topic: Topic<D>;
} & Pick<VersionedDocuments<D>, 'read' | 'lease' | 'project'>;

/** How long publishing may take (less than 10 s), and how long a writer waits for earlier
 * writers. */
type WriteTimeouts = { readonly publish: number; readonly wait: number };

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly timeoutsMs?: WriteTimeouts;
};

/** A document, and whether this write changed it. */
export type Written<D> = { readonly document: D; readonly changed: boolean };

type WriteDocument = <D extends Versioned>(
  store: DocumentStore<D>,
  id: string,
  change: (current: D | undefined) => D | undefined,
  /** Released with the version if the document was certainly not written. */
  slot?: LeasedSlot,
) => Promise<Written<D> | undefined>;

/**
 * Writes the next version of a document: leases the version, publishes the document, applies it to
 * the view, and only then returns.
 *
 * Of two concurrent writers one leases the next version; the other waits, reads the result and
 * changes that. A writer that crashed holds its version for 10 s. A writer whose lease expired, and
 * that finds a document of another writer in the view, changes that document instead. If `change`
 * returns `undefined`, nothing is written; its errors are passed on.
 *
 * @returns `undefined` if there is no document and `change` made none
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `store-unavailable`; `overloaded`
 *   if other writers hold the document for too long (12 s)
 */
export function makeWriteDocument({ publish, timeoutsMs = TIMEOUTS_MS }: Dependencies): WriteDocument {
  return async function writeDocument(store, id, change, slot) {
    for (const beganMs = performance.now(); performance.now() - beganMs < timeoutsMs.wait; ) {
      const current = await store.read(id);
      const next = change(current);
      if (!next) return current && { document: current, changed: false };
      const leasedAtMs = performance.now();
      const lease = await store.lease(id, current?.version ?? 0, LEASE_MS);
      if (lease) {
        const document = { ...next, version: lease.version };
        await publishOrRelease(
          () => publish(store.topic, document, { timeoutMs: timeoutsMs.publish }),
          () => Promise.all([lease.release(), slot?.release()]),
        );
        const newest = (await store.project(document)) ? document : await store.read(id);
        // During the lease no other writer uses this version, so a newer document was made from
        // this one.
        const isBasedOnThis =
          newest && newest.version > document.version && performance.now() - leasedAtMs < LEASE_MS;
        if (isBasedOnThis || isSame(newest, document)) return { document, changed: true };
      }
      await delay(RETRY_MS * (1 + Math.random()));
    }
    throw new ServiceError('overloaded', 'another write to this document is under way');
  };
}

/** Compares with the document as the view returns it: without `undefined` members, in any order. */
const isSame = (newest: unknown, document: unknown): boolean =>
  newest === document || isDeepStrictEqual(newest, JSON.parse(JSON.stringify(document)));

/** Releases the version at once if the message was certainly not written; if that is unknown, the
 * lease stays. */
async function publishOrRelease(
  publish: () => Promise<void>,
  release: () => Promise<unknown>,
): Promise<void> {
  try {
    await publish();
  } catch (error) {
    if (isSurelyUnwritten(error)) await release().catch(() => undefined);
    throw error;
  }
}

/** The dependencies of every writer of documents that belong to a client app: rule sets and
 * watches. */
export type WriteDependencies = {
  /** Keeps the number of documents of an app within its limit. */
  readonly slots: LeasedSlots;
  readonly throttle: Pick<Throttle, 'take'>;
  /** Refuses a write whose account has used its bytes of the day; deletions are not refused. */
  readonly requireRoom: AccountBytes['requireRoom'];
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  readonly publish: KafkaConnection['publish'];
  readonly timeoutsMs?: WriteTimeouts;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type OwnedWrite = {
  readonly clientId: string;
  readonly accountId: string;
  /** In the audit log: a key's id, an e-mail address of the portal, or `operator`. */
  readonly actor: string;
  /** Absent for an operator, who has no budget. */
  readonly limits?: Pick<TierLimits, 'writesPerDay'>;
  /** Whether the write may continue at this version, as clients see it; `undefined`: there is none. */
  readonly mayWrite?: (version: number | undefined) => boolean;
};

type OwnedChange<D> = {
  /** As clients name the document. */
  readonly id: string;
  readonly key: string;
  readonly action: string;
  /** The slots of which a new document needs one. */
  readonly slots?: { readonly set: string; readonly countMax: number } | undefined;
  /** The next document; undefined: nothing is written. */
  readonly by: (current: D | undefined) => D | undefined;
};

type Kind<D> = {
  readonly noun: string;
  readonly plural: string;
  readonly versionOf: (document: D) => number;
};

/**
 * Makes the function that changes documents of client apps within their limits. It returns once the
 * change is in effect, in the topic and in the view. A change costs one of the day's writes and has
 * an audit entry; a write that changes nothing is free.
 *
 * @throws ServiceError `version-conflict`, `limit-reached`, `rate-limited`, `bytes-exceeded`, and the
 *   errors of a write
 */
export function makeChangeDocument<D extends Versioned & { readonly deletedAt?: string | undefined }>(
  deps: WriteDependencies,
  store: DocumentStore<D>,
  { noun, plural, versionOf }: Kind<D>,
) {
  const write = makeWriteDocument(deps);
  const recordAudit = makeRecordAudit(deps);
  return async function changeDocument(
    { clientId, accountId, actor, limits, mayWrite = () => true }: OwnedWrite,
    { id, key, action, slots, by }: OwnedChange<D>,
  ): Promise<D | undefined> {
    const before = await store.read(key);
    const next = (current: D | undefined): D | undefined => {
      const live = liveOf(current);
      requireVersion(`the ${noun} ${id}`, live && versionOf(live), mayWrite);
      const after = by(current);
      // Without a slot, which only a document that was new from the beginning has taken.
      if (liveOf(after) && !live && liveOf(before))
        throw new ServiceError('overloaded', `the ${noun} was deleted meanwhile`);
      return after;
    };
    const after = next(before);
    if (!after) return before;
    if (limits && liveOf(after)) await deps.requireRoom(clientId);
    const needed = liveOf(before) ? undefined : slots;
    const slot = needed && (await deps.slots.take(needed.set, id, needed.countMax));
    if (needed && !slot)
      throw new ServiceError(
        'limit-reached',
        `this client app has reached its limit of ${needed.countMax} ${plural}; delete one first`,
      );
    if (limits) await deps.throttle.take([writeOfDay(clientId, limits)]);
    const written = await write(store, key, next, slot);
    if (written?.changed)
      await recordAudit({ accountId, clientId, actor, action, subject: id, kind: 'write' }).catch((cause) => {
        throw auditMissing(`the ${noun} is written`, cause);
      });
    return written?.document;
  };
}

/**
 * Tries to acquire a lock or a hold until there is one, at most for `msMax`.
 *
 * @param message of the error; it names the owner that did not release it
 * @throws ServiceError `overloaded`, and the errors of `acquire`
 */
export async function acquireWithin<T>(
  { msMax, retryMs, message }: { readonly msMax: number; readonly retryMs: number; readonly message: string },
  acquire: () => Promise<T | undefined | false>,
): Promise<T> {
  for (const beganMs = performance.now(); ; await delay(retryMs)) {
    const acquired = await acquire();
    if (acquired) return acquired;
    if (performance.now() - beganMs > msMax) throw new ServiceError('overloaded', message);
  }
}

/**
 * Does a write under a hold, and releases the hold. Where the outcome of the write is unknown, it
 * may take effect later: the hold then stays until it ends by itself.
 */
export async function underHold<T>(
  hold: { readonly release: () => Promise<void> } | undefined,
  write: () => Promise<T>,
): Promise<T> {
  let isSure = true;
  try {
    return await write();
  } catch (error) {
    isSure = isSurelyUnwritten(error);
    throw error;
  } finally {
    // A failed release does not undo the write.
    if (isSure) await hold?.release().catch(() => undefined);
  }
}

/**
 * Checks the precondition of a write.
 *
 * @param document such as `the watch vip`
 * @param version the stored one; undefined if there is no such document
 * @throws ServiceError `version-conflict`
 */
export function requireVersion(
  document: string,
  version: number | undefined,
  mayWrite: (version: number | undefined) => boolean,
): void {
  if (mayWrite(version)) return;
  const state = version === undefined ? 'does not exist' : `is at version ${version}`;
  throw new ServiceError('version-conflict', `${document} ${state}`);
}

/** Writes of rule sets, watches or members, of those that an app may make in a day. */
export const writeOfDay = (
  clientId: string,
  { writesPerDay }: Pick<TierLimits, 'writesPerDay'>,
  count = 1,
) => ({
  budget: { name: 'document-writes', countMax: writesPerDay, windowMs: DAY_MS },
  owner: clientId,
  count,
});
