import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { ruleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Topic } from '#shared/contracts/topic.ts';
import { isPresent, watch, watchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { OpenSystem } from '../open-system.ts';

/** The version of the export's format: an import refuses a later one. */
export const FORMAT = 1;

/** The ids of what is exported, for that which belongs to it. */
export type Exported = {
  readonly accounts: Set<string>;
  readonly clientApps: Set<string>;
  /** By uid: a watch that was made again has no members of the one before. */
  readonly watches: Set<string>;
};

type Versioned = { readonly version: number };

/** One kind of document of an export: a compacted topic and its view. */
export type Kind<D extends Versioned> = {
  readonly topic: Topic<D>;
  /** Whether a document is exported: it is not deleted, and what it belongs to is exported too. */
  readonly isWanted: (document: D, exported: Exported) => boolean;
  /** Notes an exported document for what belongs to it. */
  readonly note?: (document: D, exported: Exported) => void;
  /** Whether a system has this document, or a newer one, already. */
  readonly isKnown: (system: OpenSystem, document: D) => Promise<boolean>;
  readonly project: (system: OpenSystem, document: D) => Promise<unknown>;
};

const kind = <D extends Versioned>(one: Kind<D>): Kind<D> => one;
const isNewer = (known: Versioned | undefined, { version }: Versioned): boolean =>
  known !== undefined && known.version >= version;

/** Every kind by its name in the counts, each after the kinds that it belongs to. */
export const KINDS = {
  accounts: kind({
    topic: account,
    isWanted: ({ deletedAt }) => deletedAt === undefined,
    note: ({ accountId }, { accounts }) => accounts.add(accountId),
    isKnown: async ({ accounts }, document) => isNewer(await accounts.read(document.accountId), document),
    project: ({ accounts }, document) => accounts.project(document),
  }),
  clientApps: kind({
    topic: clientApp,
    isWanted: ({ accountId, deletedAt }, { accounts }) => deletedAt === undefined && accounts.has(accountId),
    note: ({ clientId }, { clientApps }) => clientApps.add(clientId),
    isKnown: async ({ clientApps }, document) => isNewer(await clientApps.read(document.clientId), document),
    project: ({ clientApps }, document) => clientApps.project(document),
  }),
  ruleSets: kind({
    topic: ruleSet,
    isWanted: ({ clientId, deletedAt }, { clientApps }) =>
      deletedAt === undefined && clientApps.has(clientId),
    isKnown: async ({ ruleSets }, document) =>
      isNewer(await ruleSets.documents.read(ruleSet.keyOf(document)), document),
    project: ({ ruleSets }, document) => ruleSets.project(document),
  }),
  watches: kind({
    topic: watch,
    isWanted: ({ clientId, deletedAt }, { clientApps }) =>
      deletedAt === undefined && clientApps.has(clientId),
    note: (document, { watches }) => watches.add(watchUid(document)),
    isKnown: async ({ watches }, document) =>
      isNewer(await watches.documents.read(watch.keyOf(document)), document),
    project: ({ watches }, document) => watches.project(document),
  }),
  watchMembers: kind({
    topic: watchMember,
    isWanted: (member, { watches }) => isPresent(member) && watches.has(member.watchUid),
    isKnown: async ({ watchMembers }, member) =>
      (await watchMembers.readNewer({ ...member, version: member.version - 1 })) !== undefined,
    project: ({ watchMembers, now }, member) => watchMembers.project(member, now()),
  }),
} as const;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as KindName[];
/** A kind whose documents' type is of no matter. */
export const kindOf = (name: KindName): Kind<Versioned> => KINDS[name] as unknown as Kind<Versioned>;

/** The last line of an export. */
export type Counts = Readonly<Record<KindName, number>>;
export const noCounts = (): Record<KindName, number> => ({
  accounts: 0,
  clientApps: 0,
  ruleSets: 0,
  watches: 0,
  watchMembers: 0,
});
