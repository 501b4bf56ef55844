import { setImmediate as nextTick } from 'node:timers/promises';
import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { makeRuleSetCache } from './cache-rule-sets.ts';

function makeView() {
  const stored = new Map<string, RuleSet>();
  let reads = 0;
  const cache = makeRuleSetCache({
    async read(clientId, id) {
      reads += 1;
      return stored.get(`${clientId}/${id}`);
    },
  });
  return { cache, stored, reads: () => reads };
}

test('a rule set and an unknown id are read once', async () => {
  const { cache, stored, reads } = makeView();
  stored.set('app_1/a', aRuleSet('app_1', 'a'));
  for (let i = 0; i < 3; i++) {
    expect((await cache.read('app_1', 'a'))?.id).toBe('a');
    expect(await cache.read('app_1', 'b')).toBeUndefined();
  }
  expect(reads()).toBe(2);
});

test('an announced change is read again, a creation too', async () => {
  const { cache, stored } = makeView();
  await cache.read('app_1', 'a');
  stored.set('app_1/a', aRuleSet('app_1', 'a', { rulesVersion: 2 }));
  cache.forget('app_1/a');
  expect((await cache.read('app_1', 'a'))?.rulesVersion).toBe(2);
  stored.set('app_1/a', aRuleSet('app_1', 'a', { rulesVersion: 3 }));
  cache.forgetAll();
  expect((await cache.read('app_1', 'a'))?.rulesVersion).toBe(3);
});

test('a rule set that changed while it was read is not kept', async () => {
  const answers = [aRuleSet('app_1', 'a'), aRuleSet('app_1', 'a', { rulesVersion: 2 })];
  const cache = makeRuleSetCache({
    async read() {
      const answer = answers.shift();
      // An announcement comes while the read is on its way.
      await nextTick();
      if (answers.length === 1) cache.forget('app_1/a');
      return answer;
    },
  });
  expect((await cache.read('app_1', 'a'))?.rulesVersion).toBe(1);
  expect((await cache.read('app_1', 'a'))?.rulesVersion).toBe(2);
});

test('the memory of many large rule sets is bounded', async () => {
  const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'r', description: 'x'.repeat(250_000) }];
  const { cache, stored, reads } = makeView();
  for (let i = 0; i < 100; i++) stored.set(`app_1/${i}`, aRuleSet('app_1', `${i}`, { rules }));
  for (let i = 0; i < 100; i++) await cache.read('app_1', `${i}`);
  // The newest first: a read of one that is not kept puts the oldest out.
  for (let i = 99; i >= 0; i--) await cache.read('app_1', `${i}`);
  const keptCount = 200 - reads();
  // Each takes about 1.5 MB.
  expect(keptCount).toBeGreaterThan(10);
  expect(keptCount).toBeLessThan(24);
});
