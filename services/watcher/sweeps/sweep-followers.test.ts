import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { atSecond, aWatch } from '../../../test/support/builders/a-watch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import { sweepFollowers } from './sweep-followers.ts';

const CONTRACT = { chainId: 1, contractAddress: `0x${'aa'.repeat(20)}`, blockTag: 'latest' } as const;

test('a gap in the transfers of a contract sweeps the active watches that follow it, and no other', async () => {
  const named = (watchId: string, over: Partial<Watch> = {}) => aWatch({ watchId, ...over });
  const watches = [
    named('follows'),
    named('follows another'),
    named('by sweeps alone', { follow: false }),
    named('another tag', { blockTag: 'safe' }),
    named('paused', { paused: { reason: 'requested', at: atSecond(1) } }),
    named('new', { createdAt: atSecond(50) }),
    named('deleted', { deletedAt: atSecond(1) }),
  ];
  const notFollowing = watchUid(named('follows another'));
  const swept: string[] = [];
  const deps = partially<Dependencies>({
    watches: { inPartition: async (partition) => (partition === 0 ? watches : []) },
    followed: { isFollowedBy: async (uid) => uid !== notFollowing },
    ruleSets: { read: async () => undefined },
    sweepSoon: async ({ watchId }) => void swept.push(watchId),
    partitions: [0, 1],
    now: () => Date.parse(atSecond(100)),
  });
  await sweepFollowers(deps, CONTRACT);
  expect(swept).toEqual(['follows']);
});

test('a gap sweeps a watch by its rule set if Redis has lost which contracts it follows', async () => {
  const swept: string[] = [];
  const ofContract = (contractAddress: string) => [
    { type: 'ERC20', chainId: 1, contractAddress, roleId: 'gold', minToken: '1' },
  ];
  const deps = partially<Dependencies>({
    watches: {
      inPartition: async () => [
        aWatch({ watchId: 'follows', ruleSet: 'ours' }),
        aWatch({ watchId: 'follows another', ruleSet: 'other' }),
      ],
    },
    followed: { isFollowedBy: async () => undefined },
    ruleSets: {
      read: async (clientId, id) =>
        aRuleSet(clientId, id, {
          rules: ofContract(id === 'ours' ? CONTRACT.contractAddress : `0x${'bb'.repeat(20)}`),
        }),
    },
    sweepSoon: async ({ watchId }) => void swept.push(watchId),
    partitions: [0],
    now: () => Date.parse(atSecond(100)),
  });
  await sweepFollowers(deps, CONTRACT);
  expect(swept).toEqual(['follows']);
});
