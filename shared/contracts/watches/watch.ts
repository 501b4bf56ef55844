import { hash } from 'node:crypto';
import { z } from 'zod';
import { APP_REFUSALS } from '../apps/refuse-app.ts';
import { BatchPartCompleted } from '../batches/batch.ts';
import { Wallets } from '../checks/check-requested.ts';
import { RuleFault } from '../checks/result.ts';
import { BlockNumbers, BlockTag } from '../rules/rule.ts';
import { RULE_SET_ID } from '../rules/rule-set.ts';
import { defineTopic } from '../topic.ts';
import { CheckCause, EndpointNames, Why } from './watch-check.ts';

/** Partitions of members; a member's partition never changes, so neither does this count. */
export const MEMBER_PARTITIONS = 24;
/** Most entries of one request that adds and removes members. */
export const MEMBER_CHANGES_MAX = 10_000;
/** Most contracts of one watch whose transfers are followed. */
export const FOLLOWED_PER_WATCH_MAX = 100;
/** Most contracts of one chain whose transfers are followed. */
export const FOLLOWED_PER_CHAIN_MAX = 1_000;

const version = z.number().int().positive();
const count = z.number().int().nonnegative();
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
  ...APP_REFUSALS,
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

/** A chain that could not be read for a watch, as `watch.stalled` reported it. */
export const StalledChain = z.object({
  chainId: z.number().int().positive(),
  /** When it was last read. */
  since: z.iso.datetime(),
  /** When it was reported: the chains of one message recover together. */
  reportedAt: z.iso.datetime(),
});
export type StalledChain = z.infer<typeof StalledChain>;

/** The settings that a client chooses; those that it leaves out have these values. */
export const WatchSettings = z.object({
  ruleSet: z.string().regex(RULE_SET_ID),
  callbackUrl: z.string(),
  everySeconds: z.number().int().min(60).max(604_800).default(86_400),
  follow: z.boolean().default(true),
  blockTag: BlockTag.default('latest'),
  /** Whether events explain the roles that changed. */
  explain: z.boolean().default(false),
  /** How long a revocation is held back until a second check decides; 0: it is sent at once. */
  graceSeconds: count.max(86_400).default(0),
  stalledAfterSeconds: z.number().int().min(60).max(86_400).default(900),
  quotaShare: z.number().positive().max(1).default(0.5),
  massRevocation: z
    .strictObject({
      share: z.number().positive().max(1).default(0.2),
      atLeast: z.number().int().positive().default(20),
    })
    .prefault({}),
});
export type WatchSettings = z.infer<typeof WatchSettings>;

/** A watch: the whole document, keyed by client app and watch id. */
export const Watch = z.object({
  ...WatchSettings.shape,
  clientId: z.string(),
  watchId: z.string(),
  /** Of the document. */
  version,
  /** The version that clients see: it counts changes of the settings. */
  settingsVersion: version,
  accountId: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  /** When the deleted watch with the same id was made, until its members are removed. */
  formerCreatedAt: z.iso.datetime().optional(),
  paused: z.object({ reason: PauseReason, at: z.iso.datetime() }).optional(),
  /** When the last pause ended. */
  resumedAt: z.iso.datetime().optional(),
  held: z.array(HeldRole),
  /** When the client last asked for the held revocations. */
  releasedAt: z.iso.datetime().optional(),
  stalled: z.array(StalledChain).optional(),
  /** An event about the watch itself that may not be published yet. */
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

/** A revocation that was found and not sent. Its fields say what ends it (the watcher's README). */
export const HeldBack = z.object({
  /** Since when: of the first check that denied the role, or when it was held. */
  since: z.iso.datetime(),
  /** Of that first check, as are the details. */
  why: Why,
  /** Of the rules of the role, as JSON. */
  details: z.string().optional(),
  /** A check of a later block decides, from then on. */
  graceUntil: z.iso.datetime().optional(),
  /** The endpoints that answered the first check: that check is to ask others. */
  answeredBy: EndpointNames.optional(),
  /** That check denied the role too. */
  looked: z.boolean().optional(),
  /** The sweep that found it: decided with the others of that sweep. */
  sweep: count.optional(),
});
export type HeldBack = z.infer<typeof HeldBack>;

/** The last verdict on one role of a member. */
export const MemberRole = z.object({
  id: z.string(),
  /** The last verdict that was sent, or would have been if it had changed anything. */
  granted: z.boolean(),
  since: z.iso.datetime(),
  heldBack: HeldBack.optional(),
});
export type MemberRole = z.infer<typeof MemberRole>;

/** Whether a second check decides on a revocation. */
export const isPending = ({ graceUntil, looked }: HeldBack): boolean =>
  graceUntil !== undefined && looked !== true;
/** Whether a revocation waits for a release. */
export const isHeld = ({ graceUntil, sweep }: HeldBack): boolean =>
  graceUntil === undefined && sweep === undefined;

/** When the graces of its pending revocations end, epoch ms: it is to be checked then. */
export const graceEndsOf = ({ roles }: Pick<WatchMember, 'roles'>): number[] =>
  roles.flatMap(({ heldBack }) =>
    heldBack?.graceUntil !== undefined && isPending(heldBack) ? [Date.parse(heldBack.graceUntil)] : [],
  );

export const withoutHeldBack = (role: MemberRole): MemberRole =>
  role.heldBack === undefined ? role : { id: role.id, granted: role.granted, since: role.since };

/** The blocks that the next check of a member must have read. */
export const Owed = z.object({
  /** It is due the later, the longer ago that is. */
  since: z.iso.datetime(),
  /** By chain id, the least block; 0: any. */
  blocks: BlockNumbers,
  why: Why,
});
export type Owed = z.infer<typeof Owed>;

export const SeenBlock = z.object({
  block: count,
  /** When its head was requested, epoch ms of Redis's clock. */
  askedAt: count,
});
export type SeenBlock = z.infer<typeof SeenBlock>;

/** The findings of the last applied check of a member's wallets, beside the verdicts. */
export const Checked = z.object({
  at: z.iso.datetime(),
  /** By which rules, under which block tag (`rulesStampOf`). */
  rules: z.string(),
  /** By chain id, the newest block that an applied check has read under this block tag. */
  seen: z.record(z.string(), SeenBlock),
  errors: z.array(RuleFault),
});
export type Checked = z.infer<typeof Checked>;

/** A member of a watch and its last verdicts: the whole document, keyed by watch and member. */
export const WatchMember = z.object({
  /** See `watchUid`: a watch that was deleted and made again has no members of the one before. */
  watchUid: z.string(),
  /** The client's `ref`, or the account in lower case. */
  memberId: z.string(),
  /** Epoch ms of Redis's clock when it was written, or one more than the previous version. */
  version,
  wallets: Wallets,
  addedAt: z.iso.datetime(),
  /** When the wallets were set. Never the same for other wallets. */
  walletsAt: z.iso.datetime(),
  removedAt: z.iso.datetime().optional(),
  /** Events so far. */
  sequence: count,
  roles: z.array(MemberRole),
  /** Absent until a check of these wallets was applied. */
  checked: Checked.optional(),
  owed: Owed.optional(),
  /** The bytes of the last event, where it may not be published yet. */
  event: z.string().optional(),
});
export type WatchMember = z.infer<typeof WatchMember>;

/** `first` is the first event of a member. */
export const EventCause = z.enum(['first', ...CheckCause.options, 'release']);
export type EventCause = z.infer<typeof EventCause>;

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

/** An order to the owner of a partition: about revocations that are held back, or transfers whose
 * checks could not be requested. */
export const WatchCommand = z.discriminatedUnion('command', [
  /** Sends what these sweeps hold back, but holds it of these roles. */
  z.object({
    command: z.literal('settle'),
    ...command,
    /** The sweep that has ended, and those whose second checks are over. */
    sweep: count,
    sweeps: z.array(count),
    holdRoles: z.array(z.string()),
  }),
  /** Send the revocations that were held by `at`. */
  z.object({ command: z.literal('release'), ...command }),
  /** The checks of a transfer could not be requested: these members owe one at its block. */
  z.object({
    command: z.literal('owe'),
    ...command,
    memberIds: z.array(z.string()),
    owed: Owed,
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

/** The `ref` of a member, which is never an address; `undefined`: its account is its id. */
export const refOf = ({ memberId }: Pick<WatchMember, 'memberId'>): string | undefined =>
  /^0x[0-9a-f]{40}$/.test(memberId) ? undefined : memberId;

/** The wallets of a member, in lower case; those that may have delegated to one of them apart. */
export const accountsOf = ({ wallets: { account, accounts = [account] } }: WatchMember): string[] =>
  accounts.map((each) => each.toLowerCase());

/** By chain id, the blocks that the last checks of a member have read. */
export const blockNumbersOf = ({ checked }: WatchMember): Record<string, number> =>
  Object.fromEntries(Object.entries(checked?.seen ?? {}).map(([chainId, { block }]) => [chainId, block]));

export const removedMember = (
  { checked: _, owed: __, ...member }: WatchMember,
  removedAt: string,
): WatchMember => ({ ...member, roles: [], removedAt });

export const watchKey = ({ clientId, watchId }: WatchName): string => `${clientId}/${watchId}`;

/** Identifies a watch from its creation to its deletion: its members belong to it, and not to a
 * later watch with the same id. */
export const watchUid = ({
  clientId,
  watchId,
  createdAt,
}: WatchName & { readonly createdAt: string }): string => `${clientId}/${watchId}/${Date.parse(createdAt)}`;

export function watchOfUid(uid: string): WatchName {
  const [clientId = '', watchId = ''] = uid.split('/');
  return { clientId, watchId };
}

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
  keyOf: ({ watchUid: uid, memberId }) => `${uid}/${memberId}`,
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
  retention: 'checks',
  messageMibMax: 4,
});
