import { z } from 'zod';
import { type Watch, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import { isWatchEventId, memberEventId, WATCH_EVENT_KEPT_MS } from '#shared/contracts/watches/watch-event.ts';
import { WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { memberIdOfText } from '#shared/stores/watches/members/write-watch-members.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { type Basis, existing } from '../basis.ts';

/** Delivery ids read at a time. For other webhooks only the id is read. */
const IDS_CHUNK = 500;
/** Bodies that are read at a time; a body has up to 20 KB. */
const BODIES_CHUNK = 100;
/** No further ids are read for a page after this many bodies. */
const BODIES_MAX = 1_000;

/** The body of the webhook, as the gateway's OpenAPI document describes it. */
const EventBody = z.looseObject({
  type: z.string(),
  watchId: z.string(),
  evaluatedAt: z.string().optional(),
});

export const WatchEventAnswer = z.object({
  /** Also the id of its delivery. */
  eventId: z.string(),
  /** When it was made; unknown of an event without a delivery that tells it. */
  at: z.string().optional(),
  /** The state of its delivery; none while the dispatcher has not taken it. */
  delivery: WebhookState.optional(),
  event: EventBody,
});
export type WatchEventAnswer = z.infer<typeof WatchEventAnswer>;

type KeptEvent = Pick<WatchEventAnswer, 'eventId' | 'event'>;

type Found = { readonly events: WatchEventAnswer[]; readonly next?: string | undefined };

type Page = {
  /** The ref or account of a member, for its events alone. */
  readonly member?: string | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  readonly countMax: number;
};

/**
 * Reads the events of watches, newest first, for as long as their bodies are kept (72 h).
 *
 * Nothing is stored for this: the events of a watch are found among the newest 10 000 deliveries of
 * its app, and those of a member by their ids, which follow from the member.
 */
export function makeReadWatchEvents({
  deliveries,
  results,
  watchMembers,
  now,
}: Pick<Basis, 'deliveries' | 'results' | 'watchMembers' | 'now'>) {
  /** The events of these ids whose body is kept, in the order of the ids. */
  const readBodies = async (eventIds: readonly string[]): Promise<KeptEvent[]> => {
    const bodies = await results.readMany(eventIds);
    return eventIds.flatMap((eventId, i) => {
      const body = bodies[i];
      return body === undefined ? [] : { eventId, event: EventBody.parse(JSON.parse(body)) };
    });
  };
  const withDeliveries = async (events: readonly KeptEvent[]): Promise<WatchEventAnswer[]> => {
    const views = await deliveries.readMany(events.map(({ eventId }) => eventId));
    const byId = new Map(views.map((view) => [view.requestId, view]));
    return events.map((kept) => presentEvent(kept, byId.get(kept.eventId)));
  };

  /**
   * Reads a page of the events of a watch. It reads about 1 000 bodies at most, so a page may
   * have fewer than `countMax` events, even none, and still a `next`.
   */
  const ofWatch = async (watch: Watch, { before, countMax }: Page): Promise<Found> => {
    const sinceMs = Math.max(Date.parse(watch.createdAt), now() - WATCH_EVENT_KEPT_MS);
    const events: KeptEvent[] = [];
    let last = before;
    for (let bodyCount = 0; bodyCount < BODIES_MAX; ) {
      const ids = await deliveries.listIds(watch.clientId, { sinceMs, before: last, countMax: IDS_CHUNK });
      const candidates = ids.filter(isWatchEventId);
      for (let at = 0; at < candidates.length; at += BODIES_CHUNK) {
        const found = await readBodies(candidates.slice(at, at + BODIES_CHUNK));
        events.push(...found.filter(({ event }) => event.watchId === watch.watchId));
        if (events.length < countMax) continue;
        const shown = events.slice(0, countMax);
        return { events: await withDeliveries(shown), next: shown.at(-1)?.eventId };
      }
      bodyCount += candidates.length;
      last = ids.at(-1);
      if (ids.length < IDS_CHUNK) return { events: await withDeliveries(events) };
    }
    return { events: await withDeliveries(events), next: last };
  };
  /**
   * Reads a page of the events of a member: of its last sequence and those before.
   *
   * @param text a ref or an account
   * @throws ServiceError `not-found`
   */
  const ofMember = async (watch: Watch, text: string, { before, countMax }: Page): Promise<Found> => {
    const [found] = await watchMembers.readMany(watchUid(watch), [memberIdOfText(text)]);
    const member = existing(found, 'this watch has no such member');
    const sequences = sequencesOf(member, { before, countMax });
    const events = await readBodies(sequences.map((sequence) => memberEventId(member, sequence)));
    const last = sequences.at(-1) ?? 1;
    const next = last > 1 && events.length > 0 ? String(last) : undefined;
    return { events: await withDeliveries(events), next };
  };

  return async function readWatchEvents(watch: Watch, page: Page): Promise<Found> {
    return page.member === undefined ? ofWatch(watch, page) : ofMember(watch, page.member, page);
  };
}

function sequencesOf({ sequence }: WatchMember, { before, countMax }: Page): number[] {
  const first = before === undefined ? sequence : Math.min(sequence, Number(before) - 1);
  const count = Number.isInteger(first) ? Math.max(0, Math.min(countMax, first)) : 0;
  return Array.from({ length: count }, (_, i) => first - i);
}

const presentEvent = ({ eventId, event }: KeptEvent, view: DeliveryView | undefined): WatchEventAnswer => ({
  eventId,
  at: view?.acceptedAt ?? event.evaluatedAt ?? view?.attempts[0]?.at,
  delivery: view?.state,
  event,
});
