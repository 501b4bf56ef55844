import { anEndpoint } from '../../../../test/support/builders/an-endpoint.ts';
import { ABSENT, failed, type Read } from '../../domain/read.ts';
import type { Rpc } from '../rpc/connect-rpc.ts';
import { makeReadFromEndpoint } from './read-from-endpoint.ts';
import { RememberedNames } from './reads-apart.ts';
import { KeptHashes } from './state-identity.ts';

const [REGISTRY, OTHER] = [`0x${'dd'.repeat(20)}`, `0x${'ee'.repeat(20)}`];
const readOf = (contract: string, account: string): Read => ({
  ...{ chainId: 1, kind: 'balance', contract, id: 0n, key: contract + account },
  account: `0x${account.repeat(20)}`,
});
const WORD = `0x${'1'.padStart(64, '0')}`;

/** Reads at an endpoint of plain calls that says by `eth_getCode` that no contract has code. */
async function readWithoutCode(answers: Readonly<Record<string, string>>) {
  const callMany: Rpc['callMany'] = async (requests) =>
    requests.map(({ method, params }) => {
      const [{ to }] = method === 'eth_call' ? (JSON.parse(params) as [{ to: string }]) : [{ to: '' }];
      return { ok: true, result: answers[to] ?? '0x' };
    });
  const reads = ['01', '02'].flatMap((account) => [readOf(REGISTRY, account), readOf(OTHER, account)]);
  const { readings } = await makeReadFromEndpoint({
    quarantine: new RememberedNames(1_000),
    kept: new KeptHashes(),
  })(
    anEndpoint({ callMany }),
    {
      capabilities: { method: 'plain', pin: 'hash', source: 'evm', fromBlock: 0 },
      block: { number: 7, hash: `0x${'07'.repeat(32)}`, parentHash: `0x${'06'.repeat(32)}`, timestamp: 1 },
      ...{ reads, way: 'shared', isNew: false, isRepeated: false, isPast: false },
    },
    new AbortController().signal,
  );
  return readings;
}

test('that there is no contract is shown by a call that returns nothing, not by eth_getCode alone', async () => {
  expect(await readWithoutCode({})).toEqual([ABSENT, ABSENT, ABSENT, ABSENT]);
  const doubtful = failed('contract-not-found');
  expect(await readWithoutCode({ [REGISTRY]: WORD })).toEqual([doubtful, ABSENT, doubtful, ABSENT]);
});
