import { LRUCache } from 'lru-cache';
import { memoryOf, RULE_SET_ID, type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';

/** The longest that an old version may still be used, should the notice of its change be lost. */
const CACHE_MS = 30_000;
export const CACHED_BYTES_MAX = 32 * 1024 * 1024;
/** The memory of an id without a rule set. */
const UNKNOWN_BYTES = 600;

export type RuleSetCache = ReturnType<typeof makeRuleSetCache>;

type Entry = { readonly ruleSet: RuleSet | undefined };

const bytesOf = ({ ruleSet }: Entry): number => (ruleSet ? memoryOf(ruleSet) : UNKNOWN_BYTES);

/** Keeps rule sets in memory, unknown ids too, until they change. */
export function makeRuleSetCache({ read }: Pick<RuleSets, 'read'>) {
  const entries = new LRUCache<string, Entry, Pick<RuleSet, 'clientId' | 'id'>>({
    maxSize: CACHED_BYTES_MAX,
    sizeCalculation: bytesOf,
    ttl: CACHE_MS,
    fetchMethod: async (_key, _stale, { context: { clientId, id } }) => ({
      ruleSet: await read(clientId, id),
    }),
    // The result of a read may lack a change that was announced during the read: it is used, and
    // not kept.
    ignoreFetchAbort: true,
  });
  return {
    async read(clientId: string, id: string): Promise<RuleSet | undefined> {
      const found = await entries.fetch(ruleSetKey(clientId, id), { context: { clientId, id } });
      return found?.ruleSet;
    },
    /** A rule set has changed; named by `ruleSetKey`. */
    forget: (key: string): void => void entries.delete(key),
    forgetAll: (): void => entries.clear(),
  };
}

/** Finds the rule set that a body names by `ruleSet`; nothing if it names none, or if the named one
 * does not exist. */
export type ResolveRuleSet = (clientId: string, body: unknown) => Promise<RuleSet | undefined>;

/** A check is resolved to the version of its rule set that is there when the check is accepted. */
export function makeResolveRuleSet({ read }: Pick<RuleSetCache, 'read'>): ResolveRuleSet {
  return async function resolveRuleSet(clientId, body) {
    const id = (body as { readonly ruleSet?: unknown } | null)?.ruleSet;
    // Other texts are ids of no rule set: they are not looked up.
    if (typeof id !== 'string' || !RULE_SET_ID.test(id)) return undefined;
    return read(clientId, id);
  };
}
