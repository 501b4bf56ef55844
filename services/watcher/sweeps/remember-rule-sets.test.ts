import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { rememberRuleSets } from './remember-rule-sets.ts';

test('an unchanged rule set is not parsed again, and a changed or deleted one is seen at the next read', async () => {
  let stored: RuleSet | undefined = aRuleSet('app_1', 'set');
  let parsedCount = 0;
  const { read } = rememberRuleSets({
    async read(_, __, known) {
      if (stored && known?.version === stored.version) return known;
      parsedCount += 1;
      return stored && { ...stored };
    },
  });
  const first = await read('app_1', 'set');
  expect(await read('app_1', 'set')).toBe(first);
  expect(parsedCount).toBe(1);

  stored = aRuleSet('app_1', 'set', { version: 2, rulesVersion: 2 });
  expect(await read('app_1', 'set')).toMatchObject({ rulesVersion: 2 });
  stored = undefined;
  expect(await read('app_1', 'set')).toBeUndefined();
});
