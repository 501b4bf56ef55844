import { ruleSet, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import type { Dependencies } from '../dependencies.ts';

const PAGE_COUNT_MAX = 50;

/**
 * Deletes the rule sets of a client app that is gone, in the topic too, so that they do not outlive
 * it. The app's keys are revoked: no other process writes them.
 */
export function makeEndRuleSets({ ruleSets, kafka, now }: Dependencies) {
  return async function endRuleSets(clientId: string): Promise<void> {
    let after = '';
    for (let hasMore = true; hasMore; ) {
      const page = await ruleSets.list(clientId, { after, countMax: PAGE_COUNT_MAX });
      for (const current of page.ruleSets) {
        const tombstone = tombstoneOf(current, new Date(now()).toISOString());
        await kafka.publish(ruleSet, tombstone);
        await ruleSets.project(tombstone);
        after = current.id;
      }
      hasMore = page.hasMore;
    }
  };
}
