import { LRUCache } from 'lru-cache';
import type { KeyUse } from '#shared/redis/key-use.ts';
import type { Caller } from './authenticate.ts';

/** A key's last use is written at most that often by one process. */
const WRITE_INTERVAL_MS = 60_000;
const KEYS_MAX = 10_000;

export type Dependencies = {
  readonly note: KeyUse['note'];
  /** Redis's clock, epoch ms. */
  readonly now: () => number;
};

/**
 * Notes that a key was used, for the portal to show. It neither delays nor fails a request: a write that is lost
 * is made up by the next use.
 *
 * @example
 * const noteKeyUse = makeNoteKeyUse({ note: makeKeyUse(redis).note, now: clock.now });
 * noteKeyUse({ app, keyId: 'key_1' });
 */
export function makeNoteKeyUse({ note, now }: Dependencies): (caller: Caller) => void {
  const writtenAt = new LRUCache<string, number>({ max: KEYS_MAX });
  return ({ app, keyId }) => {
    const nowMs = now();
    const name = `${app.clientId}/${keyId}`;
    if (nowMs - (writtenAt.get(name) ?? Number.NEGATIVE_INFINITY) < WRITE_INTERVAL_MS) return;
    writtenAt.set(name, nowMs);
    void note(app.clientId, keyId, nowMs).catch(() => writtenAt.delete(name));
  };
}
