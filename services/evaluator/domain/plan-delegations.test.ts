import { parseViewFunction, type ViewFunction } from '#shared/contracts/rules/view-function.ts';
import { makeCall } from './plan-call.ts';
import { type DelegationScope, needDelegations } from './plan-delegations.ts';
import { ReadCollector } from './read.ts';

const [ACCOUNT, VAULT, CONTRACT, REGISTRY] = ['a1', 'b2', '0c', 'd4'].map(
  (byte) => `0x${byte.repeat(20)}`,
) as [string, string, string, string];
const NO_RIGHTS = `0x${'0'.repeat(64)}`;
const ID = 2n ** 255n + 7n;

function parsed(text: string): ViewFunction {
  const found = parseViewFunction(text);
  if (!found.ok) throw new Error(found.detail);
  return found.fn;
}

test.each<[string, string, readonly string[], DelegationScope]>([
  ['everything', 'All(address, address, bytes32) view returns (bool)', [], { kind: 'all' }],
  [
    'a contract',
    'Contract(address, address, address, bytes32) view returns (bool)',
    [CONTRACT],
    { kind: 'contract', contract: CONTRACT },
  ],
  [
    'an owned id',
    'ERC721(address, address, address, uint256, bytes32) view returns (bool)',
    [CONTRACT, String(ID)],
    { kind: 'owned-id', contract: CONTRACT, id: ID },
  ],
  [
    'an ERC20 amount',
    'ERC20(address, address, address, bytes32) view returns (uint256)',
    [CONTRACT],
    { kind: 'erc20', contract: CONTRACT },
  ],
  [
    'an amount of an id',
    'ERC1155(address, address, address, uint256, bytes32) view returns (uint256)',
    [CONTRACT, String(ID)],
    { kind: 'erc1155', contract: CONTRACT, id: ID },
  ],
])('a delegation of %s is asked by the call that its function encodes', (_, signature, place, scope) => {
  const { reads } = needDelegations(new ReadCollector(), {
    ...{ chainId: 1, registry: REGISTRY, accounts: [ACCOUNT], vault: VAULT, scope },
  });
  const fn = parsed(`function checkDelegateFor${signature}`);
  expect(reads.map(({ call }) => call)).toEqual([makeCall(fn, [ACCOUNT, VAULT, ...place, NO_RIGHTS], 0)]);
});
