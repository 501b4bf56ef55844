import type { TierLimits } from '#shared/contracts/apps/client-app.ts';
import type { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, ruleSet, ruleSetKey, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import { digestOfRules } from '#shared/contracts/rules/rules-digest.ts';
import { ServiceError } from '#shared/errors.ts';
import { liveOf } from '../documents/versioned-documents.ts';
import {
  acquireWithin,
  makeChangeDocument,
  type OwnedWrite,
  underHold,
  type WriteDependencies,
} from '../documents/write-document.ts';
import { type RuleSets, ruleSetSlotsKey } from './rule-sets.ts';

const DELETION_WAIT = { msMax: 3_000, retryMs: 25 } as const;

type Dependencies = WriteDependencies & {
  readonly ruleSets: Pick<RuleSets, 'documents' | 'beginDeletion'>;
};

type RuleSetWrite = OwnedWrite & {
  readonly id: string;
  readonly limits: Pick<TierLimits, 'ruleSets' | 'writesPerDay'>;
};

/** Valid rules as the client sent them. */
export type RuleSetContent = {
  readonly name?: string | undefined;
  readonly rules: RuleSet['rules'];
  readonly onUndetermined: OnUndetermined;
};

export type RuleSetWrites = ReturnType<typeof makeRuleSetWrites>;

/**
 * Writes to rule sets; see `makeChangeDocument`.
 *
 * @throws ServiceError `rule-set-in-use`, and the errors of a change
 */
export function makeRuleSetWrites(deps: Dependencies) {
  const change = makeChangeDocument(
    deps,
    { ...deps.ruleSets.documents, topic: ruleSet },
    { noun: 'rule set', plural: 'rule sets', versionOf: ({ rulesVersion }) => rulesVersion },
  );
  const nowIso = () => new Date(deps.now()).toISOString();
  return {
    async put(request: RuleSetWrite, content: RuleSetContent): Promise<{ ruleSet: RuleSet; isNew: boolean }> {
      const { clientId, id, limits } = request;
      let isNew = false;
      const written = await change(request, {
        ...{ id, key: ruleSetKey(clientId, id), action: 'rule-set-written' },
        slots: { set: ruleSetSlotsKey(clientId), countMax: limits.ruleSets },
        by: (current) => {
          isNew = liveOf(current) === undefined;
          return nextOf(request, content, current, nowIso());
        },
      });
      if (!written) throw new ServiceError('overloaded', 'the rule set was deleted meanwhile');
      return { ruleSet: written, isNew };
    },
    /** Deletes a rule set; nothing happens if there is none. */
    async remove(request: RuleSetWrite): Promise<void> {
      const { clientId, id } = request;
      const message = `another deletion of the rule set ${id} is under way`;
      const deletion = await acquireWithin({ ...DELETION_WAIT, message }, () =>
        deps.ruleSets.beginDeletion(clientId, id),
      );
      await underHold(deletion === 'in-use' ? undefined : deletion, () =>
        change(request, {
          ...{ id, key: ruleSetKey(clientId, id), action: 'rule-set-deleted' },
          by: (current) => {
            const live = liveOf(current);
            if (live && deletion === 'in-use')
              throw new ServiceError('rule-set-in-use', `a watch refers to the rule set ${id}`);
            return live && tombstoneOf(live, nowIso());
          },
        }),
      );
    },
  };
}

/** The next document, or undefined if the content is the same. A recreated rule set continues the
 * count. */
function nextOf(
  { clientId, id }: RuleSetWrite,
  { name, rules, onUndetermined }: RuleSetContent,
  current: RuleSet | undefined,
  updatedAt: string,
): RuleSet | undefined {
  const digest = digestOfRules(rules, onUndetermined);
  const live = liveOf(current);
  const isSameRules = live?.digest === digest;
  if (isSameRules && live.name === name) return undefined;
  return {
    clientId,
    id,
    version: (current?.version ?? 0) + 1,
    rulesVersion: isSameRules ? live.rulesVersion : (current?.rulesVersion ?? 0) + 1,
    digest,
    ...(name === undefined ? {} : { name }),
    rules: isSameRules ? live.rules : rules,
    onUndetermined,
    updatedAt,
  };
}
