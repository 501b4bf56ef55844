import { z } from 'zod';
import { defineTopic } from '../topic.ts';
import { OnUndetermined, Rule, type RuleSetReference, simpleRulesOf } from './rule.ts';

export const RULE_SET_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** A stored list of rules of a client app: the whole document, keyed by client id and id. */
export const RuleSet = z.object({
  clientId: z.string(),
  id: z.string(),
  /** Of the document: it counts every write, and never goes back. */
  version: z.number().int().positive(),
  /** The version that clients see: it counts changes of `rules` and `onUndetermined`. */
  rulesVersion: z.number().int().positive(),
  /** See `digestOfRules`. */
  digest: z.string(),
  name: z.string().optional(),
  /** As the client sent them; valid when they were stored. */
  rules: z.array(z.record(z.string(), z.unknown())),
  onUndetermined: OnUndetermined,
  updatedAt: z.iso.datetime(),
  /** The rule set is gone, its document stays for a while as a tombstone without rules. */
  deletedAt: z.iso.datetime().optional(),
});
export type RuleSet = z.infer<typeof RuleSet>;

export const ruleSetKey = (clientId: string, id: string): string => `${clientId}/${id}`;

/** The version of a rule set, as messages and results name it. */
export const referenceOf = ({ id, rulesVersion, digest }: RuleSet): RuleSetReference => ({
  id,
  version: rulesVersion,
  digest,
});

/** The same as text: `vip@3`. */
export const rulesNameOf = ({ id, rulesVersion }: Pick<RuleSet, 'id' | 'rulesVersion'>): string =>
  `${id}@${rulesVersion}`;

export const presentRuleSet = ({
  id,
  rulesVersion,
  digest,
  name,
  rules,
  onUndetermined,
  updatedAt,
}: RuleSet) => ({
  ruleSetId: id,
  version: rulesVersion,
  digest,
  ...(name === undefined ? {} : { name }),
  rules,
  onUndetermined,
  updatedAt,
});

/** The document of a rule set that was deleted, one version behind the last. */
export const tombstoneOf = ({ name: _, ...ruleSet }: RuleSet, deletedAt: string): RuleSet => ({
  ...ruleSet,
  version: ruleSet.version + 1,
  rules: [],
  updatedAt: deletedAt,
  deletedAt,
});

/** Compacted topics never change their partition count. */
export const ruleSet = defineTopic({
  name: 'rule-set.v1',
  schema: RuleSet,
  keyOf: ({ clientId, id }) => ruleSetKey(clientId, id),
  partitionCount: 12,
  cleanup: 'compact',
});

/** Parsed rules take about this many bytes for each character of their JSON, by a heap snapshot. */
const BYTES_PER_CHARACTER = 6;
/** The memory of a rule set beside its rules. */
const FRAME_BYTES = 600;

/** By rules, for as long as they are in memory. */
const knownMemory = new WeakMap<RuleSet['rules'], number>();

/** About how many bytes of memory a rule set takes. */
export function memoryOf({ rules }: Pick<RuleSet, 'rules'>): number {
  const known = knownMemory.get(rules) ?? FRAME_BYTES + BYTES_PER_CHARACTER * JSON.stringify(rules).length;
  knownMemory.set(rules, known);
  return known;
}

/** The rules of a rule set or of a body as they travel in messages: with their defaults, and
 * without the members that are only for the client. */
export const rulesOf = ({ rules }: Pick<RuleSet, 'rules'>): Rule[] => rules.map((rule) => Rule.parse(rule));

type Contracts = readonly { readonly chainId: number; readonly contractAddress: string }[];
/** By rule set, for as long as it is in memory. */
const knownContracts = new WeakMap<RuleSet, Contracts>();

/** The contracts whose transfers concern a rule set: those of token rules and of terms about a
 * token, in lower case, each once. */
export function contractsOf(ruleSet: RuleSet): Contracts {
  const known = knownContracts.get(ruleSet) ?? findContracts(ruleSet);
  knownContracts.set(ruleSet, known);
  return known;
}

/** The same contracts, to be followed up to a block tag. */
export const contractsUpTo = <Tag>(ruleSet: RuleSet, blockTag: Tag) =>
  contractsOf(ruleSet).map((contract) => ({ ...contract, blockTag }));

/** Those of them that are followed for a watch: none while it is paused. */
export const contractsToFollow = <Tag>(
  ruleSet: RuleSet,
  {
    follow,
    paused,
    blockTag,
  }: { readonly follow: boolean; readonly paused?: unknown; readonly blockTag: Tag },
) => (follow && paused === undefined ? contractsUpTo(ruleSet, blockTag) : []);

function findContracts(ruleSet: RuleSet): Contracts {
  const found = new Map<string, { chainId: number; contractAddress: string }>();
  for (const rule of rulesOf(ruleSet).flatMap(simpleRulesOf))
    if (rule.type !== 'NATIVE' && rule.type !== 'CONTRACT' && rule.contractAddress !== undefined) {
      const contract = { chainId: rule.chainId, contractAddress: rule.contractAddress.toLowerCase() };
      found.set(`${contract.chainId}/${contract.contractAddress}`, contract);
    }
  return [...found.values()];
}
