import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { WatchFigures } from '#shared/stores/watches/members/watch-members.ts';
import { composeAboutWatch, type HeldFigures } from '../domain/compose-event.ts';
import type { PublishChanges } from '../members/publish-changes.ts';
import type { Stores } from '../stores.ts';
import type { ChangeWatch } from './change-watch.ts';

/** How long after a release held roles are not announced: the release is still being carried
 * out. */
const RELEASE_MS = 30_000;

export function makeAnnounceHeld({ change, publishEvent, now }: Stores & ChangeWatch & PublishChanges) {
  /** Publishes the event that the document contains, then removes it from the document. */
  async function publishWatchEvent(watch: Watch): Promise<void> {
    if (watch.event === undefined) return;
    const { id } = watch.event;
    await publishEvent(watch, watch.event);
    await change(watch, ({ event, ...rest }) => (event?.id === id ? rest : undefined));
  }
  return {
    publishWatchEvent,
    /**
     * Adds newly held roles to the watch and publishes `watch.held`: writes the document with the
     * event's bytes first, then publishes the event. Does nothing if the client has released since
     * `sinceMs`, or while the watch is paused: `updateHeld` announces them after the pause.
     */
    async announceHeld(watch: Watch, roles: readonly HeldFigures[], sinceMs: number): Promise<void> {
      const written = await change(watch, (current) => {
        if (isReleasedSince(current, sinceMs) || current.paused) return undefined;
        const news = roles.filter(({ id }) => !current.held.some((held) => held.id === id));
        if (news.length === 0 || current.event !== undefined) return undefined;
        return withHeld(current, news, new Date(now()).toISOString());
      });
      if (written?.changed) await publishWatchEvent(written.document);
    },
  };
}

export type AnnounceHeld = ReturnType<typeof makeAnnounceHeld>;

/** Updates the held roles of a watch from its members, and notifies the client of new ones. */
export async function updateHeld(
  deps: Stores & ChangeWatch & AnnounceHeld,
  watch: Watch,
  { held, holders }: WatchFigures,
): Promise<void> {
  const sinceMs = deps.now() - RELEASE_MS;
  if (isReleasedSince(watch, sinceMs) || (await deps.sweeps.read(watchUid(watch)))) return;
  const roles = [...held].map(([id, revocations]) => ({ id, revocations, holders: holders.get(id) ?? 0 }));
  await deps.announceHeld(watch, roles, sinceMs);
  if (watch.held.some(({ id }) => !held.has(id)))
    await deps.change(watch, (current) => ({
      ...current,
      held: current.held.filter(({ id }) => held.has(id)),
    }));
}

const isReleasedSince = ({ releasedAt }: Watch, sinceMs: number): boolean =>
  releasedAt !== undefined && Date.parse(releasedAt) > sinceMs;

function withHeld(watch: Watch, roles: readonly HeldFigures[], heldAt: string): Watch {
  const name = `held/${watch.version}/${roles.map((role) => role.id).join()}`;
  const figures = roles.map(({ id, holders, revocations }) => ({ id, holders, revocations }));
  const event = composeAboutWatch(watch, { type: 'watch.held', roles: figures }, name, heldAt);
  return { ...watch, held: [...watch.held, ...roles.map((role) => ({ ...role, heldAt }))], event };
}
