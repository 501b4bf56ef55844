import { type HeldRole, type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { aboutWatchEventId } from '#shared/contracts/watches/watch-event.ts';
import type { WatchFigures } from '#shared/stores/watches/members/watch-members.ts';
import type { WatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { composeWatchHeld } from '../domain/compose-event.ts';
import type { PublishChanges } from '../members/publish-changes.ts';
import type { ChangeWatch } from './change-watch.ts';

/** How long after a release held roles are not announced: the release is still being carried
 * out. */
const RELEASE_MS = 30_000;

export type AnnounceHeldDependencies = {
  readonly sweeps: Pick<WatchSweeps, 'read'>;
  readonly publishEvent: PublishChanges['publishEvent'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Held = Omit<HeldRole, 'heldAt'>;

/** Updates a watch's held roles from its members, and notifies the client of new ones. */
export function makeAnnounceHeld(deps: AnnounceHeldDependencies, change: ChangeWatch['change']) {
  /** Publishes the event that the document contains, then removes it from the document. */
  const publishWatchEvent = async (watch: Watch): Promise<void> => {
    if (watch.event === undefined) return;
    const { id } = watch.event;
    await deps.publishEvent(watch, watch.event);
    await change(watch, ({ event, ...rest }) => (event?.id === id ? rest : undefined));
  };

  /**
   * Adds newly held roles to the watch and publishes `watch.held`: writes the document with the
   * event's bytes first, then publishes the event. Does nothing if the client has released since
   * `sinceMs`, or while the watch is paused: `updateHeld` announces them after the pause.
   */
  const announceHeld = async (watch: Watch, roles: readonly Held[], sinceMs: number): Promise<void> => {
    const written = await change(watch, (current) => {
      if (isReleasedSince(current, sinceMs) || current.paused) return undefined;
      const news = roles.filter(({ id }) => !current.held.some((held) => held.id === id));
      if (news.length === 0 || current.event !== undefined) return undefined;
      return withHeld(current, news, new Date(deps.now()).toISOString());
    });
    if (written?.changed) await publishWatchEvent(written.document);
  };

  return {
    announceHeld,
    publishWatchEvent,
    /** Updates the held roles of a watch from its members. */
    async updateHeld(watch: Watch, { held, holders }: WatchFigures): Promise<void> {
      const sinceMs = deps.now() - RELEASE_MS;
      if (isReleasedSince(watch, sinceMs) || (await deps.sweeps.read(watchUid(watch)))) return;
      const roles = [...held].map(([id, revocations]) => {
        return { id, revocations, holders: holders.get(id) ?? 0 };
      });
      await announceHeld(watch, roles, sinceMs);
      if (watch.held.some(({ id }) => !held.has(id)))
        await change(watch, (current) => ({
          ...current,
          held: current.held.filter(({ id }) => held.has(id)),
        }));
    },
  };
}

const isReleasedSince = ({ releasedAt }: Watch, sinceMs: number): boolean =>
  releasedAt !== undefined && Date.parse(releasedAt) > sinceMs;

function withHeld(watch: Watch, roles: readonly Held[], heldAt: string): Watch {
  const names = roles.map((role) => role.id).join();
  const id = aboutWatchEventId('watch.held', `${watchUid(watch)}/held/${watch.version}/${names}`);
  const held = [...watch.held, ...roles.map((role) => ({ ...role, heldAt }))];
  return { ...watch, held, event: composeWatchHeld(watch, roles, id, heldAt) };
}
