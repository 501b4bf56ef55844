import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { isPresent, watch, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { OpenSystem } from '../open-system.ts';

/** The version of the export's format: an import refuses a later one. */
export const FORMAT = 1;

export type Versioned = { readonly version: number };

/** One kind of document of an export: a compacted topic and its view. */
export type Kind<D extends Versioned> = {
  readonly topic: Topic<D>;
  /** Whether it was not deleted. */
  readonly isLive: (document: D) => boolean;
  /** What it belongs to, with which alone it is exported; absent of an account. */
  readonly ownerOf?: (document: D) => string;
  /** Its name for what belongs to it, other than that of any other document. */
  readonly idOf?: (document: D) => string;
  readonly viewOf: (system: OpenSystem) => {
    /** The document of this key, at least if it is newer than `document`, or as new. */
    readonly read: (key: string, document: D) => Promise<D | undefined>;
    readonly project: (document: D) => Promise<unknown>;
  };
};

const kind = <D extends Versioned>(one: Kind<D>): Kind<D> => one;
const isLive = ({ deletedAt }: { readonly deletedAt?: string | undefined }) => deletedAt === undefined;
const clientIdOf = ({ clientId }: { readonly clientId: string }) => clientId;

/** Every kind by its name in the counts, each after the kinds that it belongs to. */
const KINDS = {
  accounts: kind({
    topic: account,
    isLive,
    idOf: ({ accountId }) => accountId,
    viewOf: ({ accounts }) => accounts,
  }),
  clientApps: kind({
    topic: clientApp,
    isLive,
    ownerOf: ({ accountId }) => accountId,
    idOf: clientIdOf,
    viewOf: ({ clientApps }) => clientApps,
  }),
  ruleSets: kind({
    topic: ruleSet,
    isLive,
    ownerOf: clientIdOf,
    viewOf: ({ ruleSets }) => ruleSets.documents,
  }),
  watches: kind({
    topic: watch,
    isLive,
    ownerOf: clientIdOf,
    // A watch that was made again has no members of the one before.
    idOf: watchUid,
    viewOf: ({ watches }) => watches.documents,
  }),
  watchMembers: kind({
    topic: watchMember,
    isLive: isPresent,
    ownerOf: ({ watchUid }) => watchUid,
    viewOf: ({ watchMembers, now }) => ({
      read: (_key, member) => watchMembers.readNewer({ ...member, version: member.version - 1 }),
      project: (member) => watchMembers.project(member, now()),
    }),
  }),
} as const;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as KindName[];
/** A kind whose documents' type is of no matter. */
export const kindOf = (name: KindName): Kind<Versioned> => KINDS[name] as unknown as Kind<Versioned>;

export const noCounts = () =>
  Object.fromEntries(KIND_NAMES.map((name) => [name, 0])) as Record<KindName, number>;
