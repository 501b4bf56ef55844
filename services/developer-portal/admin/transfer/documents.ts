import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { isPresent, watch, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { OpenSystem } from '../open-system.ts';

/** The version of the export's format: an import refuses a later one. */
export const FORMAT = 1;

/** The ids of exported documents, for those that belong to them. */
export type Exported = {
  readonly accounts: Set<string>;
  readonly clientApps: Set<string>;
  /** By uid: a watch that was made again has no members of the one before. */
  readonly watches: Set<string>;
};

export type Versioned = { readonly version: number };

/** One kind of document of an export: a compacted topic and its view. */
export type Kind<D extends Versioned> = {
  readonly topic: Topic<D>;
  /** Whether a document is exported: it is not deleted, and its owner is exported too. */
  readonly isWanted: (document: D, exported: Exported) => boolean;
  /** Notes an exported document for those that belong to it. */
  readonly note?: (document: D, exported: Exported) => void;
  readonly viewOf: (system: OpenSystem) => {
    /** The document of this key, at least if it is newer than `document`, or as new. */
    readonly read: (key: string, document: D) => Promise<D | undefined>;
    readonly project: (document: D) => Promise<unknown>;
  };
};

const kind = <D extends Versioned>(one: Kind<D>): Kind<D> => one;
const isOfApp = (
  { clientId, deletedAt }: { readonly clientId: string; readonly deletedAt?: string | undefined },
  { clientApps }: Exported,
): boolean => deletedAt === undefined && clientApps.has(clientId);

/** Every kind by its name in the counts, each after the kinds that it belongs to. */
const KINDS = {
  accounts: kind({
    topic: account,
    isWanted: ({ deletedAt }) => deletedAt === undefined,
    note: ({ accountId }, { accounts }) => accounts.add(accountId),
    viewOf: ({ accounts }) => accounts,
  }),
  clientApps: kind({
    topic: clientApp,
    isWanted: ({ accountId, deletedAt }, { accounts }) => deletedAt === undefined && accounts.has(accountId),
    note: ({ clientId }, { clientApps }) => clientApps.add(clientId),
    viewOf: ({ clientApps }) => clientApps,
  }),
  ruleSets: kind({
    topic: ruleSet,
    isWanted: isOfApp,
    viewOf: ({ ruleSets }) => ruleSets.documents,
  }),
  watches: kind({
    topic: watch,
    isWanted: isOfApp,
    note: (document, { watches }) => watches.add(watchUid(document)),
    viewOf: ({ watches }) => watches.documents,
  }),
  watchMembers: kind({
    topic: watchMember,
    isWanted: (member, { watches }) => isPresent(member) && watches.has(member.watchUid),
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
