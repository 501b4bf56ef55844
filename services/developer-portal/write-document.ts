import { setTimeout as delay } from 'node:timers/promises';
import type { Topic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';

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
  readonly lease: (
    id: string,
    before: number,
    leaseMs: number,
  ) => Promise<(() => Promise<unknown>) | undefined>;
  readonly project: (document: D) => Promise<boolean>;
};

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  /** From 0 to 1. */
  readonly random?: () => number;
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
 * holds its version for 10 s. `change` returning nothing leaves the document as it is; what it throws is thrown.
 *
 * @returns nothing where there is no document and `change` made none
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `store-unavailable`; `overloaded` when others hold
 *   the document for 12 s
 */
export function makeWriteDocument({ publish, random = Math.random }: Dependencies): WriteDocument {
  return async function writeDocument(store, id, change) {
    for (const began = performance.now(); performance.now() - began < WAIT_MS_MAX; ) {
      const current = await store.read(id);
      const next = change(current);
      if (!next) return current && { document: current, changed: false };
      const before = current?.version ?? 0;
      const document = { ...next, version: before + 1 };
      const release = await store.lease(id, before, LEASE_MS);
      if (release) {
        await publishOrRelease(
          () => publish(store.topic, document, { timeoutMs: PUBLISH_TIMEOUT_MS }),
          release,
        );
        await store.project(document);
        return { document, changed: true };
      }
      await delay(RETRY_MS * (1 + random()));
    }
    throw new ServiceError('overloaded', 'another write to this document is under way');
  };
}

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
