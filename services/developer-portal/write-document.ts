import { setTimeout as delay } from 'node:timers/promises';
import type { Topic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';

/** Longer than a publish may take: two writers never hold the same version. */
const LEASE_MS = 10_000;
const LEASE_TRIES_MAX = 50;
const LEASE_RETRY_MS = 100;

type Versioned = { readonly version: number };

export type DocumentStore<D extends Versioned> = {
  readonly topic: Topic<D>;
  readonly read: (id: string) => Promise<D | undefined>;
  readonly project: (document: D) => Promise<boolean>;
};

type Dependencies = { readonly redis: Redis; readonly publish: KafkaConnection['publish'] };

export type WriteDocument = <D extends Versioned>(
  store: DocumentStore<D>,
  id: string,
  change: (current: D | undefined) => D | undefined,
) => Promise<D | undefined>;

/**
 * Writes the next version of a document: leases it, publishes, applies it to the view, and only then returns.
 *
 * Of two writers one gets the next version; the other waits for it and changes what came of it. A writer that died
 * holds its version for 10 s. `change` returning nothing leaves the document as it is.
 *
 * @throws ServiceError `broker-unavailable`, `store-unavailable`; `overloaded` when others hold the lease for long
 */
export function makeWriteDocument({ redis, publish }: Dependencies): WriteDocument {
  return async function writeDocument(store, id, change) {
    for (let tries = 0; tries < LEASE_TRIES_MAX; tries++) {
      const current = await store.read(id);
      const next = change(current);
      if (!next) return current;
      const document = { ...next, version: (current?.version ?? 0) + 1 };
      const lease = `lease:${store.topic.name}:${id}:${document.version}`;
      const leased = await inStore(() => redis.set(lease, '1', 'PX', LEASE_MS, 'NX'));
      if (leased === 'OK') {
        await publish(store.topic, document);
        await store.project(document);
        return document;
      }
      await delay(LEASE_RETRY_MS);
    }
    throw new ServiceError('overloaded', 'another write to this document is under way');
  };
}
