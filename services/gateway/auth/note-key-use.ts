import { LRUCache } from 'lru-cache';
import type { KeyUse } from '#shared/stores/apps/key-use.ts';
import type { Caller } from './authenticate.ts';

type UsedKey = Pick<Caller, 'app' | 'keyId'>;

/** One process writes the last use of a key at most this often. */
const WRITE_INTERVAL_MS = 60_000;
const KEYS_MAX = 10_000;

type Dependencies = {
  readonly note: KeyUse['note'];
  /** Redis's clock, epoch ms. */
  readonly now: () => number;
};

/**
 * Records the last use of a key, for the portal. It neither delays nor fails a request: if a write
 * is lost, the next use writes again.
 */
export function makeNoteKeyUse({ note, now }: Dependencies): (used: UsedKey) => void {
  const writtenAt = new LRUCache<string, number>({ max: KEYS_MAX });
  return ({ app, keyId }) => {
    const nowMs = now();
    const name = `${app.clientId}/${keyId}`;
    if (nowMs - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < WRITE_INTERVAL_MS) return;
    writtenAt.set(name, nowMs);
    void note(app.clientId, keyId, nowMs).catch(() => writtenAt.delete(name));
  };
}
