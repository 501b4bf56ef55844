import type { TierLimits } from '#shared/contracts/apps/client-app.ts';
import type { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, ruleSet, ruleSetKey, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import { digestOfRules } from '#shared/contracts/rules/rules-digest.ts';
import { ServiceError } from '#shared/errors.ts';
import { auditMissing, makeRecordAudit } from '../audit/audit-trail.ts';
import { liveOf } from '../documents/versioned-documents.ts';
import {
  acquireWithin,
  makeWriteDocument,
  requireVersion,
  underHold,
  type WriteDependencies,
  writeOfDay,
} from '../documents/write-document.ts';
import { type RuleSets, ruleSetSlotsKey } from './rule-sets.ts';

/** How often a write starts over because another writer was faster. */
const ATTEMPTS_MAX = 20;
/** How long a deletion waits for another one of the same rule set. */
const DELETION_WAIT = { msMax: 3_000, retryMs: 25 } as const;

type Dependencies = WriteDependencies & {
  readonly ruleSets: Pick<RuleSets, 'documents' | 'beginDeletion'>;
};

/** Whose rule set is written, and by whom. */
export type RuleSetWrite = {
  readonly clientId: string;
  readonly accountId: string;
  readonly id: string;
  /** In the audit log: a key's id, an e-mail address of the portal, or `operator`. */
  readonly actor: string;
  readonly limits: Pick<TierLimits, 'ruleSets' | 'writesPerDay'>;
  /** Whether the write may continue at this version; `undefined`: there is none. */
  readonly mayWrite?: (version: number | undefined) => boolean;
};

/** Valid rules as the client sent them. */
export type RuleSetContent = {
  readonly name?: string | undefined;
  readonly rules: RuleSet['rules'];
  readonly onUndetermined: OnUndetermined;
};

export type RuleSetWrites = ReturnType<typeof makeRuleSetWrites>;

type Change = (current: RuleSet | undefined) => RuleSet | undefined;

/**
 * Writes to rule sets. Each returns once it is in effect, in the topic and in the view; each that
 * changed something costs one of the day's writes and has an audit entry.
 *
 * @throws ServiceError `version-conflict`, `limit-reached`, `rate-limited`, `bytes-exceeded`,
 *   `rule-set-in-use`, and the errors of a write
 */
export function makeRuleSetWrites(deps: Dependencies) {
  const write = makeWriteDocument(deps);
  const recordAudit = makeRecordAudit(deps);
  const store = { ...deps.ruleSets.documents, topic: ruleSet };

  /**
   * Applies a change to the version that was judged and to no other, so that the slot and the
   * preconditions are right: where another writer was faster, everything is judged again.
   */
  async function change(request: RuleSetWrite, action: string, by: Change): Promise<RuleSet | undefined> {
    const { clientId, accountId, id, actor, limits, mayWrite = () => true } = request;
    const key = ruleSetKey(clientId, id);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const current = await store.read(key);
      requireVersion(`the rule set ${id}`, liveOf(current)?.rulesVersion, mayWrite);
      const next = by(current);
      if (!next) return liveOf(current);
      if (attempt === 0 && next.deletedAt === undefined) await deps.requireRoom(clientId);
      if (!liveOf(current)) await takeSlot(request);
      if (attempt === 0) await deps.throttle.take([writeOfDay(clientId, limits)]);
      let isJudged = true;
      const written = await write(store, key, (found) => {
        isJudged = found?.version === current?.version;
        return isJudged ? next : undefined;
      });
      if (!isJudged || !written) continue;
      await recordAudit({ accountId, clientId, actor, action, subject: id, kind: 'write' }).catch((cause) => {
        throw auditMissing('the rule set is written', cause);
      });
      return written.document;
    }
    throw new ServiceError('overloaded', 'other writes to this rule set are under way');
  }

  async function takeSlot({ clientId, id, limits }: RuleSetWrite): Promise<void> {
    if (!(await deps.slots.take(ruleSetSlotsKey(clientId), id, limits.ruleSets)))
      throw new ServiceError(
        'limit-reached',
        `this client app has reached its limit of ${limits.ruleSets} rule sets; delete one first`,
      );
  }

  return {
    async put(request: RuleSetWrite, content: RuleSetContent): Promise<{ ruleSet: RuleSet; isNew: boolean }> {
      let isNew = false;
      const written = await change(request, 'rule-set-written', (current) => {
        isNew = liveOf(current) === undefined;
        return nextOf(request, content, current, new Date(deps.now()).toISOString());
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
        change(request, 'rule-set-deleted', (current) => {
          if (!current || current.deletedAt !== undefined) return undefined;
          if (deletion === 'in-use')
            throw new ServiceError('rule-set-in-use', `a watch refers to the rule set ${id}`);
          return tombstoneOf(current, new Date(deps.now()).toISOString());
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
