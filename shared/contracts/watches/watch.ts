import { hash } from 'node:crypto';
import { z } from 'zod';
import { BatchPartCompleted } from '../batches/batch.ts';
import { Wallets } from '../checks/check-requested.ts';
import { RuleFault } from '../checks/result.ts';
import { BlockTag } from '../rules/rule.ts';
import { defineTopic } from '../topic.ts';

/** Partitions of members; a member's partition never changes, so neither does this count. */
export const MEMBER_PARTITIONS = 24;
/** Most entries of one request that adds and removes members. */
export const MEMBER_CHANGES_MAX = 10_000;
/** Most contracts of one watch whose transfers are followed. */
export const FOLLOWED_PER_WATCH_MAX = 100;
/** Most contracts of one chain whose transfers are followed. */
export const FOLLOWED_PER_CHAIN_MAX = 1_000;
/** Most of them that one client app may add; a contract that is followed already is not counted. */
export const FOLLOWED_PER_APP_MAX = 250;

const version = z.number().int().positive();
const count = z.number().int().nonnegative();
/** By chain id in decimal. */
const BlockNumbers = z.record(z.string(), count);

/**
 * A share of a count is compared with this tolerance, because binary fractions round it:
 * `0.29 * 100` is less than 29. It is larger than the rounding of ten million members, and smaller
 * than any difference of counts.
 */
export const SHARE_TOLERANCE = 1e-8;

/** A webhook with the bytes that every attempt sends. */
export const WatchEvent = z.object({
  /** The `webhook-id` without its prefix: the same however often the event is published. */
  id: z.string().min(1).max(64),
  json: z.string(),
  at: z.iso.datetime(),
});
export type WatchEvent = z.infer<typeof WatchEvent>;

export const PauseReason = z.enum([
  'requested',
  'quota-exceeded',
  'quota-share-exceeded',
  'bytes-per-day',
  'rule-set-missing',
]);
export type PauseReason = z.infer<typeof PauseReason>;

/** A role whose revocations are held, as `watch.held` reported it. */
export const HeldRole = z.object({
  id: z.string(),
  holders: count,
  revocations: count,
  heldAt: z.iso.datetime(),
});
export type HeldRole = z.infer<typeof HeldRole>;

/** A watch: the whole document, keyed by client app and watch id. */
export const Watch = z.object({
  clientId: z.string(),
  watchId: z.string(),
  /** Of the document. */
  version,
  /** The version that clients see: it counts changes of the settings. */
  settingsVersion: version,
  accountId: z.string(),
  ruleSet: z.string(),
  /** The rule set before that, if it was another one. */
  formerRuleSet: z.string().optional(),
  callbackUrl: z.string(),
  everySeconds: z.number().int().min(60).max(604_800),
  follow: z.boolean(),
  blockTag: BlockTag,
  quotaShare: z.number().positive().max(1),
  massRevocation: z.object({ share: z.number().positive().max(1), atLeast: z.number().int().positive() }),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** When the deleted watch with the same id was made, until its members are removed. */
  formerCreatedAt: z.iso.datetime().optional(),
  paused: z.object({ reason: PauseReason, at: z.iso.datetime() }).optional(),
  held: z.array(HeldRole),
  /** When the client last asked for the held revocations. */
  releasedAt: z.iso.datetime().optional(),
  /** A `watch.held` event that may not be published yet. */
  event: WatchEvent.optional(),
  /** The rule set and its version that the last sweep began with, such as `vip@3`. */
  sweptRules: z.string().optional(),
  /** A sweep that was asked for at this time, or began then, may not have ended: it begins again if
   * Redis has lost it. */
  sweepAskedAt: z.iso.datetime().optional(),
  /** Set once: the watch is gone, its document stays as a tombstone. */
  deletedAt: z.iso.datetime().optional(),
});
export type Watch = z.infer<typeof Watch>;

/** The last verdict on one role of a member, and its consequences. */
export const MemberRole = z.object({
  id: z.string(),
  /** The last verdict that was sent, or would have been if it had changed anything. */
  granted: z.boolean(),
  since: z.iso.datetime(),
  /**
   * The role was found revoked and the client was not told: `sweep` names the sweep whose end
   * decides on it; without one it is held until it is released, or until a check grants the role
   * again. `heldAt` says since when; an older watcher does not say it.
   */
  withheld: z.object({ sweep: count.optional(), heldAt: z.iso.datetime().optional() }).optional(),
});
export type MemberRole = z.infer<typeof MemberRole>;

/** A role without its withheld revocation: dropped where it was found for other wallets, or by
 * other rules. */
export const withoutWithheld = (role: MemberRole): MemberRole =>
  role.withheld === undefined ? role : { id: role.id, granted: role.granted, since: role.since };

/** A member of a watch and its last verdicts: the whole document, keyed by watch and member. */
export const WatchMember = z.object({
  clientId: z.string(),
  watchId: z.string(),
  /** When the watch was made: a watch that was deleted and made again has no members of the one
   * before. */
  watchCreatedAt: z.iso.datetime(),
  /** The client's `ref`, or the account in lower case. */
  memberId: z.string(),
  /** Epoch ms of Redis's clock when it was written, or one more than the previous version. */
  version,
  ...Wallets.shape,
  ref: z.string().optional(),
  addedAt: z.iso.datetime(),
  /** When the wallets were set: evaluations that were requested before do not count. */
  walletsAt: z.iso.datetime(),
  removedAt: z.iso.datetime().optional(),
  /** Events so far. */
  sequence: count,
  roles: z.array(MemberRole),
  checkedAt: z.iso.datetime().optional(),
  /** Since when checks of it could not read a chain; its next check is due the later, the longer
   * that lasts. */
  unreadSince: z.iso.datetime().optional(),
  blockNumbers: BlockNumbers,
  /** By chain id, when the head of that block was requested, epoch ms. */
  headTimes: z.record(z.string(), count).optional(),
  /** By chain id, the block of a transfer at which it could not be read yet: its next check reads
   * that one or a later one. */
  awaitedBlocks: BlockNumbers.optional(),
  errors: z.array(RuleFault),
  /** The rules of the last check, and since when: checks by other rules that were requested before
   * do not count. */
  rules: z.object({ name: z.string(), askedAt: z.iso.datetime() }).optional(),
  /** When it was last checked after a reorg: the topic must know the blocks that were read then. */
  reorgedAt: z.iso.datetime().optional(),
  /** The last event, where it may not be published yet. */
  event: WatchEvent.optional(),
});
export type WatchMember = z.infer<typeof WatchMember>;

/** Why a member is checked. `first` is a cause of events alone: the first one of a member. */
export const CheckCause = z.enum(['transfer', 'schedule', 'rule-set']);
export type CheckCause = z.infer<typeof CheckCause>;
export const EventCause = z.enum(['first', ...CheckCause.options, 'release']);
export type EventCause = z.infer<typeof EventCause>;

/** The watcher's context of a part that it requested; it comes back with the results. */
export const CheckContext = z.object({
  watchUid: z.string(),
  cause: CheckCause,
  /** The rule set with its version, and the block tag unless it is `latest`: `vip@3`,
   * `vip@3 safe`. */
  rules: z.string(),
  /** The sweep that the part belongs to. */
  sweep: count.optional(),
  /** By chain id, the first block that a reorg dropped. */
  reorgFrom: BlockNumbers.optional(),
  /** When the reorg was known, epoch ms of Redis's clock; an older watcher does not say it. */
  reorgKnownAt: count.optional(),
  /** By chain id, the least block that was requested. */
  minBlock: BlockNumbers.optional(),
  /** Of each entry, when the wallets that it names were set, epoch ms; an older watcher does not
   * say it. */
  walletTimes: z.array(count).optional(),
});
export type CheckContext = z.infer<typeof CheckContext>;

const command = {
  clientId: z.string(),
  watchUid: z.string(),
  partition: z
    .number()
    .int()
    .min(0)
    .max(MEMBER_PARTITIONS - 1),
  at: z.iso.datetime(),
};

/** An order to the owner of a partition: about withheld revocations, or transfers whose checks
 * could not be requested. */
export const WatchCommand = z.discriminatedUnion('command', [
  /** The sweep has ended: send its changes, but withhold those of these roles. */
  z.object({
    command: z.literal('settle'),
    ...command,
    sweep: count,
    cause: CheckCause,
    holdRoles: z.array(z.string()),
  }),
  /** Send the revocations that were held by `at`. */
  z.object({ command: z.literal('release'), ...command }),
  /** The checks of a transfer could not be requested: check these members at its block or a later
   * one. */
  z.object({
    command: z.literal('await'),
    ...command,
    memberIds: z.array(z.string()),
    minBlock: BlockNumbers.optional(),
    reorgFrom: BlockNumbers.optional(),
  }),
]);
export type WatchCommand = z.infer<typeof WatchCommand>;

/** The log of a partition of members: results of checks, and commands. Its order is the order in
 * which they apply. */
export const WatchEvaluated = z.union([WatchCommand, BatchPartCompleted]);
export type WatchEvaluated = z.infer<typeof WatchEvaluated>;

type WatchName = { readonly clientId: string; readonly watchId: string };

/** Whether there is such a member, and it was not removed. */
export const isPresent = (member: WatchMember | undefined): member is WatchMember =>
  member !== undefined && member.removedAt === undefined;

/** Whether a member's wallets were not checked yet. */
export const isNewMember = ({ checkedAt, walletsAt }: WatchMember): boolean =>
  checkedAt === undefined || checkedAt < walletsAt;

export const watchKey = ({ clientId, watchId }: WatchName): string => `${clientId}/${watchId}`;

/** Identifies a watch from its creation to its deletion: its members belong to it, and not to a
 * later watch with the same id. */
export const watchUid = ({
  clientId,
  watchId,
  createdAt,
}: WatchName & { readonly createdAt: string }): string => `${clientId}/${watchId}/${Date.parse(createdAt)}`;

/** The watch of a uid. */
export function watchOfUid(uid: string): WatchName {
  const [clientId = '', watchId = ''] = uid.split('/');
  return { clientId, watchId };
}

export const uidOfMember = ({ watchCreatedAt: createdAt, ...member }: WatchMember): string =>
  watchUid({ ...member, createdAt });

/** The partition that a member belongs to: all that concerns it happens in the order of that
 * partition. */
export const partitionOfMember = (uid: string, memberId: string): number =>
  Number.parseInt(hash('sha1', `${uid}/${memberId}`).slice(0, 8), 16) % MEMBER_PARTITIONS;

/** The partition whose owner starts and ends the sweeps of a watch. */
export const partitionOfWatch = (uid: string): number => {
  const { clientId, watchId } = watchOfUid(uid);
  return partitionOfMember(watchKey({ clientId, watchId }), '');
};

export const watch = defineTopic({
  name: 'watch.v1',
  schema: Watch,
  keyOf: watchKey,
  partitionCount: 12,
  cleanup: 'compact',
});

export const watchMember = defineTopic({
  name: 'watch-member.v1',
  schema: WatchMember,
  keyOf: (member) => `${uidOfMember(member)}/${member.memberId}`,
  partitionCount: MEMBER_PARTITIONS,
  cleanup: 'compact',
  // Of a rule set of 256 KiB: every role, an error of every rule, and an event that names every
  // role.
  messageMibMax: 4,
});

const partitionOf = (message: WatchEvaluated): number => {
  if ('command' in message) return message.partition;
  return message.delivery.mode === 'watch' ? message.delivery.partition : 0;
};

export const watchEvaluated = defineTopic({
  name: 'watch.evaluated.v1',
  schema: WatchEvaluated,
  // One key for a partition: its records are handled one after another.
  keyOf: (message) => String(partitionOf(message)),
  partitionOf,
  partitionCount: MEMBER_PARTITIONS,
  retentionDays: 1,
  messageMibMax: 4,
});
