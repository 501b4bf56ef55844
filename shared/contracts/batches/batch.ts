import { z } from 'zod';
import type { Tier } from '../apps/client-app.ts';
import { asked, Wallets } from '../checks/check-requested.ts';
import { defineTopic, ofRequest } from '../topic.ts';
import { EndpointNames, WatchCheck } from '../watches/watch-check.ts';

/** Most entries of one part: they are planned, read and stored together. */
export const PART_ENTRIES_MAX = 500;
/** Most reads of one part, before equal ones are counted once. */
export const PART_READS_MAX = 20_000;
export const ENTRY_READS_MAX = 200;
/** Most bytes of a part's results, if every rule ended with an error. */
export const PART_RESULT_BYTES_MAX = 3 * 1024 * 1024;

/** Most entries of a batch, and unfinished batches of an app, by tier. */
export const BATCH_LIMITS = {
  free: { entries: 1_000, unfinished: 2 },
  paid: { entries: 10_000, unfinished: 10 },
  enterprise: { entries: 100_000, unfinished: 100 },
} as const satisfies Record<Tier, { readonly entries: number; readonly unfinished: number }>;

/** In a preview: the last verdicts of the watch's member, by role id. Not a zod record, which drops
 * a role with the id `__proto__`. */
export const VerdictsBefore = z.custom<Readonly<Record<string, boolean>>>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((granted) => typeof granted === 'boolean'),
);

/** One member of a batch: wallets, and the caller's own id. */
export const BatchEntry = Wallets.extend({
  ref: z.string().max(128).optional(),
  before: VerdictsBefore.optional(),
});
export type BatchEntry = z.infer<typeof BatchEntry>;

/** The receiver of a batch's results: a client that polls, a client with a callback, or the
 * watcher. */
export const BatchDelivery = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('poll') }),
  z.object({ mode: z.literal('webhook'), callbackUrl: z.string() }),
  /** The result goes to this partition of `watch.evaluated.v1`. */
  z.object({ mode: z.literal('watch'), partition: z.number().int().min(0), check: WatchCheck }),
]);
export type BatchDelivery = z.infer<typeof BatchDelivery>;

const part = {
  ...ofRequest,
  /** Index of this part, from 0. */
  part: z.number().int().nonnegative(),
  partCount: z.number().int().positive(),
  /** Index of this part's first entry in the batch, from 0. */
  firstIndex: z.number().int().nonnegative(),
  /** Entries of the whole batch. */
  entryCount: z.number().int().positive(),
  ruleSet: asked.ruleSet,
  /** Of a preview of a watch: SHA-256 (hex) of its members and their verdicts, as they were
   * taken. */
  previewDigest: z.string().optional(),
  delivery: BatchDelivery,
  chargedMonth: asked.chargedMonth,
};

/** Gateway or watcher → evaluator: judge the rules for each of these entries, all at one block per
 * chain. */
export const BatchPartRequested = z.object({
  ...part,
  ...asked,
  entries: z.array(BatchEntry).min(1).max(PART_ENTRIES_MAX),
  /** Of the watcher. By chain id, the endpoints that are asked only if there are too few others. */
  avoid: EndpointNames.optional(),
});
export type BatchPartRequested = z.infer<typeof BatchPartRequested>;

/** How many members hold a role; one verdict per member and role, folded over the rules that name
 * it. */
export const RoleCounts = z
  .object({
    id: z.string(),
    granted: z.number().int().nonnegative(),
    denied: z.number().int().nonnegative(),
    undetermined: z.number().int().nonnegative(),
    /** In a preview: members whose verdict would change to granted. */
    gained: z.number().int().nonnegative().optional(),
    /** In a preview: members whose verdict would change to denied. */
    lost: z.number().int().nonnegative().optional(),
  })
  .meta({ id: 'RoleCounts' });
export type RoleCounts = z.infer<typeof RoleCounts>;

/** Evaluator → result-store (or watcher): the results of one part. */
export const BatchPartCompleted = z.object({
  ...part,
  /** Entries of this part. */
  lineCount: z.number().int().positive(),
  /** In the order in which the rules name the roles first. */
  roles: z.array(RoleCounts),
  /** Entries whose charge is returned: nothing decided, and every error retryable. */
  refundCount: z.number().int().nonnegative(),
  /** Entries that ended as `failed`. */
  failedCount: z.number().int().nonnegative(),
  evaluatedAt: z.iso.datetime(),
  /** For the watcher. By chain id, when the head of the reads was requested, epoch ms of Redis's
   * clock. */
  headTimes: z.record(z.string(), z.number().int().nonnegative()).optional(),
  /** For the watcher. By chain id, the time of the block that was read, epoch ms of the chain. */
  blockTimes: z.record(z.string(), z.number().int().nonnegative()).optional(),
  /** For the watcher. By chain id, the endpoints that answered. */
  answeredBy: EndpointNames.optional(),
  /** One line of JSON per entry, compressed by gzip, in base64: these very lines are stored and
   * served. */
  linesGzip: z.string(),
});
export type BatchPartCompleted = z.infer<typeof BatchPartCompleted>;

const keyOf = ({ requestId, part }: { requestId: string; part: number }): string => `${requestId}/${part}`;

/** The roles of some rules, in the order in which the rules name them first. */
export const roleIdsOf = (rules: readonly { readonly roleId: string }[]): string[] => [
  ...new Set(rules.map(({ roleId }) => roleId)),
];

/** The last part is published after all others, so its presence proves that the batch is
 * complete. */
export const isLastPart = ({ part, partCount }: Pick<BatchPartRequested, 'part' | 'partCount'>): boolean =>
  part === partCount - 1;

export const checkRequestedBatch = defineTopic({
  name: 'check.requested.batch.v1',
  schema: BatchPartRequested,
  keyOf,
  partitionCount: 24,
  retention: 'checks',
  messageMibMax: 2,
});

export const batchCompleted = defineTopic({
  name: 'batch.completed.v1',
  schema: BatchPartCompleted,
  keyOf,
  partitionCount: 24,
  retention: 'checks',
  messageMibMax: 4,
});
