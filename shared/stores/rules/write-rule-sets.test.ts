import { ServiceError } from '#shared/errors.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { makeFakeRuleSets } from '../../../test/support/fakes/fake-rule-sets.ts';

const REQUEST = {
  clientId: 'app_1',
  accountId: 'acc_1',
  id: 'a',
  actor: 'key_1',
  limits: { ruleSets: 1, writesPerDay: 10 },
};

async function makeWorld(deletingCount: number) {
  const fake = makeFakeRuleSets({ deletingCount });
  await fake.view.documents.project(aRuleSet('app_1', 'a'));
  return fake;
}

afterEach(() => void jest.restoreAllMocks());

test('a deletion waits for another deletion of the same rule set', async () => {
  jest.spyOn(performance, 'now').mockReturnValue(0);
  const { writes, view } = await makeWorld(2);
  await writes.remove(REQUEST);
  expect(await view.read('app_1', 'a')).toBeUndefined();
});

test('a deletion is refused with overloaded while another one does not end', async () => {
  const { writes, view } = await makeWorld(Infinity);
  await expect(writes.remove(REQUEST)).rejects.toMatchObject({ code: 'overloaded' });
  expect(await view.read('app_1', 'a')).toBeDefined();
});

test.each([
  ['broker-unavailable', 'frees'],
  ['publish-unknown', 'keeps'],
] as const)('a new rule set whose write failed with %s %s its slot', async (code, outcome) => {
  const failures = [new ServiceError(code, 'away')];
  const { writes } = makeFakeRuleSets({
    async publish() {
      const failure = failures.pop();
      if (failure) throw failure;
    },
  });
  const put = (id: string) => writes.put({ ...REQUEST, id }, aRuleSet('app_1', id));
  await expect(put('a')).rejects.toMatchObject({ code });
  const second = put('b');
  if (outcome === 'frees') await expect(second).resolves.toMatchObject({ isNew: true });
  else await expect(second).rejects.toMatchObject({ code: 'limit-reached' });
});
