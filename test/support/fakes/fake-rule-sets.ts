import { type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import { ServiceError } from '#shared/errors.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import { makeRuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';

/**
 * The rule sets of a fake gateway: the real writes over a view of object literals. Another deletion
 * is under way for `deletingCount` attempts.
 */
export function makeFakeRuleSets(
  options: {
    publish?: () => Promise<void>;
    writesLeft?: number;
    used?: readonly string[];
    deletingCount?: number;
  } = {},
) {
  const stored = new Map<string, RuleSet>();
  const slots = new Set<string>();
  const audited: string[] = [];
  let { writesLeft = Infinity, deletingCount = 0 } = options;
  const live = () => [...stored.values()].filter(({ deletedAt }) => deletedAt === undefined);
  const view: Pick<RuleSets, 'read' | 'list' | 'documents' | 'beginDeletion'> = {
    read: async (clientId, id) =>
      live().find((ruleSet) => ruleSetKey(ruleSet.clientId, ruleSet.id) === ruleSetKey(clientId, id)),
    async list(clientId, { after = '', countMax }) {
      const all = live()
        .filter((ruleSet) => ruleSet.clientId === clientId && ruleSet.id > after)
        .sort((a, b) => (a.id < b.id ? -1 : 1));
      const ruleSets = all.slice(0, countMax);
      return { ruleSets, next: all.length > countMax ? ruleSets.at(-1)?.id : undefined };
    },
    async beginDeletion(_clientId, id) {
      if (deletingCount-- > 0) return undefined;
      return options.used?.includes(id) ? 'in-use' : { release: async () => undefined };
    },
    documents: {
      read: async (key) => stored.get(key),
      lease: async (_key, before) => ({ version: before + 1, release: async () => undefined }),
      async project(ruleSet) {
        stored.set(ruleSetKey(ruleSet.clientId, ruleSet.id), ruleSet);
        if (ruleSet.deletedAt !== undefined) slots.delete(ruleSet.id);
        return true;
      },
    },
  };
  const writes = makeRuleSetWrites({
    ruleSets: view,
    slots: {
      async take(_set, id, countMax) {
        if (!slots.has(id) && slots.size >= countMax) return undefined;
        slots.add(id);
        return { release: async () => slots.delete(id) };
      },
    },
    requireRoom: async () => undefined,
    throttle: {
      async take() {
        if (writesLeft-- < 1) throw new ServiceError('rate-limited', 'no more', { retryAfterMs: 60_000 });
      },
    },
    auditTrail: {
      record: async ({ actor, action, subject }) => void audited.push(`${actor} ${action} ${subject}`),
    },
    publish: async () => options.publish?.(),
    now: () => Date.UTC(2026, 10, 22, 10),
  });
  return { view, writes, stored, audited };
}

export type FakeRuleSets = ReturnType<typeof makeFakeRuleSets>;
