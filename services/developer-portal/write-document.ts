import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Topic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Lease } from '#shared/redis/versioned-documents.ts';

/** Longer than a publish may take: two writers never hold the same version. */
const LEASE_MS = 10_000;
const PUBLISH_TIMEOUT_MS = 8_000;
/** How long a writer waits for the ones before it. */
const WAIT_MS_MAX = 12_000;
/** Between two tries, with as much again at random: writers that wait for one document do not stay in step. */
const RETRY_MS = 15;

type Versioned = { readonly version: number };

export type DocumentStore<D extends Versioned> = {
  readonly topic: Topic<D>;
  readonly read: (id: string) => Promise<D | undefined>;
  readonly lease: (id: string, before: number, leaseMs: number) => Promise<Lease | undefined>;
  /** False where the view has the same or a newer version. */
  readonly project: (document: D) => Promise<boolean>;
};

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  /** From 0 to 1. */
  readonly random?: () => number;
  /** Ms of a clock that never goes back. */
  readonly monotonicMs?: () => number;
};

/** A document, and whether this write made it what it is. */
export type Written<D> = { readonly document: D; readonly changed: boolean };

export type WriteDocument = <D extends Versioned>(
  store: DocumentStore<D>,
  id: string,
  change: (current: D | undefined) => D | undefined,
) => Promise<Written<D> | undefined>;

/**
 * Writes the next version of a document: leases it, publishes, applies it to the view, and only then returns.
 *
 * Of two writers one gets the next version; the other waits for it and changes what came of it. A writer that died
 * holds its version for 10 s. A writer that outlived its lease, and finds another's document in the view, changes
 * that one. `change` returning nothing leaves the document as it is; what it throws is thrown.
 *
 * @returns nothing where there is no document and `change` made none
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `store-unavailable`; `overloaded` when others hold
 *   the document for 12 s
 */
export function makeWriteDocument({
  publish,
  random = Math.random,
  monotonicMs = () => performance.now(),
}: Dependencies): WriteDocument {
  return async function writeDocument(store, id, change) {
    for (const beganMs = monotonicMs(); monotonicMs() - beganMs < WAIT_MS_MAX; ) {
      const current = await store.read(id);
      const next = change(current);
      if (!next) return current && { document: current, changed: false };
      const leasedAtMs = monotonicMs();
      const lease = await store.lease(id, current?.version ?? 0, LEASE_MS);
      if (lease) {
        const document = { ...next, version: lease.version };
        await publishOrRelease(
          () => publish(store.topic, document, { timeoutMs: PUBLISH_TIMEOUT_MS }),
          lease.release,
        );
        const newest = (await store.project(document)) ? document : await store.read(id);
        // While the lease lasts nobody else writes behind the same version: what is newer was made of this one.
        const isMadeOfThis =
          newest && newest.version > document.version && monotonicMs() - leasedAtMs < LEASE_MS;
        if (isMadeOfThis || isSame(newest, document)) return { document, changed: true };
      }
      await delay(RETRY_MS * (1 + random()));
    }
    throw new ServiceError('overloaded', 'another write to this document is under way');
  };
}

/** As the view gives it back: without members that are undefined, in whatever order. */
const isSame = (newest: unknown, document: unknown): boolean =>
  newest === document || isDeepStrictEqual(newest, JSON.parse(JSON.stringify(document)));

/** A message that surely was not written frees its version at once; one of which nothing is known keeps it. */
async function publishOrRelease(
  publish: () => Promise<void>,
  release: () => Promise<unknown>,
): Promise<void> {
  try {
    await publish();
  } catch (error) {
    const isSurelyUnwritten = !(error instanceof ServiceError) || error.code !== 'publish-unknown';
    if (isSurelyUnwritten) await release().catch(() => undefined);
    throw error;
  }
}
