import { poolOf } from '../../../../test/support/builders/pool-of.ts';
import type { Block } from '../blocks/block.ts';
import { BlockTime } from '../endpoints/block-time.ts';
import { Endpoint } from '../endpoints/endpoint.ts';
import type { Rpc, RpcRequest } from '../rpc/connect-rpc.ts';
import { type FailureKind, RpcFailure } from '../rpc/rpc-failure.ts';
import { LogReader, TooManyLogs, TooManyTransfers } from './read-logs.ts';
import { TRANSFER_TOPICS } from './transfer-log.ts';

const contractOf = (n: number) => `0x${(0xc0_00 + n).toString(16).padStart(40, '0')}`;
const CONTRACTS = Array.from({ length: 8 }, (_, n) => contractOf(n));
const hashOf = (number: number, fork = 0) => `0x${fork}${number.toString(16).padStart(63, '0')}`;
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;
const head: Block = { number: 1_000, hash: hashOf(1_000), parentHash: hashOf(999), timestamp: 0 };

type Filter = { fromBlock?: string; toBlock?: string; blockHash?: string; address: string[] };
type Node = {
  /** Throws if it does not allow the request. */
  readonly allow?: (fromBlock: number, toBlock: number, addresses: readonly string[]) => void;
  /** The blocks with a transfer of every contract. */
  readonly blocks: readonly number[];
  /** How many transfers a contract has in each of the blocks; default: 1. */
  readonly logCountOf?: (contract: string) => number;
  readonly fork?: number;
  /** The newest block that it has; default: the head. */
  newest?: number;
};

/** An endpoint whose node answers `eth_getLogs` from a list of blocks, and the requested ranges. */
function anEndpoint(name: string, node: Node) {
  const asked: string[] = [];
  const headerOf = (number: number) => ({
    number: `0x${number.toString(16)}`,
    hash: hashOf(number, node.fork),
    parentHash: hashOf(number - 1, node.fork),
    timestamp: '0x0',
  });
  const logsOf = (params: string) => {
    const [{ fromBlock, toBlock, blockHash, address }] = JSON.parse(params) as [Filter];
    const [from, to] =
      blockHash === undefined ? [Number(fromBlock), Number(toBlock)] : [head.number, head.number];
    asked.push(`${from}-${to}/${address.length}${blockHash === undefined ? '' : ' by hash'}`);
    node.allow?.(from, to, address);
    return node.blocks
      .filter((number) => number >= from && number <= Math.min(to, node.newest ?? head.number))
      .flatMap((number) =>
        address.flatMap((contract) =>
          Array.from({ length: node.logCountOf?.(contract) ?? 1 }, (_, index) => ({
            address: contract,
            blockNumber: `0x${number.toString(16)}`,
            blockHash: hashOf(number, node.fork),
            logIndex: `${contract} ${index}`,
            topics: [TRANSFER_TOPICS[0], word(1), word(2)],
            data: word(3),
          })),
        ),
      );
  };
  const answer = ({ method, params }: RpcRequest): unknown => {
    if (method === 'eth_getLogs') return logsOf(params);
    const [number] = JSON.parse(params) as [string];
    return Number(number) > (node.newest ?? head.number) ? null : headerOf(Number(number));
  };
  const rpc = {
    async callMany(requests: readonly RpcRequest[]) {
      return requests.map((request) => {
        try {
          return { ok: true, result: answer(request) };
        } catch (failure) {
          return { ok: false, failure };
        }
      });
    },
  } as unknown as Rpc;
  const endpoint = new Endpoint({
    name,
    rpc,
    monotonicMs: () => 0,
  });
  return { endpoint, asked };
}

function readerOf(endpoints: readonly { endpoint: Endpoint }[], quorum = 1, blockMs = 500): LogReader {
  return new LogReader({
    pool: {
      ...poolOf(endpoints.map(({ endpoint }) => endpoint)),
      doubt: () => undefined,
      ageMs: () => 0,
    },
    quorum,
    blockTime: new BlockTime(blockMs),
  });
}

const { signal } = new AbortController();
const refuse = (kind: FailureKind): never => {
  throw new RpcFailure(kind, { isErrorAnswer: kind !== 'timeout', words: 'no more than I like' });
};
const numbersOf = async (
  reader: LogReader,
  fromBlock: number,
  toBlock: number,
  contracts = [contractOf(0)],
) =>
  (await reader.read({ fromBlock, toBlock, contracts }, head, signal)).logs.map(
    ({ blockNumber }) => blockNumber,
  );

test('a range is read with one call', async () => {
  const node = anEndpoint('0', { blocks: [3, 7, 12] });
  expect(await numbersOf(readerOf([node]), 1, 10, CONTRACTS.slice(0, 2))).toEqual([3, 3, 7, 7]);
  expect(node.asked).toEqual(['1-10/2']);
});

test.each(['rpc-error', 'block-unavailable', 'too-large', 'endless'] as const)(
  'a range that is refused as %s is read in smaller parts, whose size is remembered',
  async (kind) => {
    const blocks = [5, 50, 95];
    const allow = (from: number, to: number) => (to - from >= 10 ? refuse(kind) : undefined);
    const node = anEndpoint('0', { blocks, allow });
    const reader = readerOf([node]);
    expect(await numbersOf(reader, 1, 100)).toEqual(blocks);
    node.asked.length = 0;
    expect(await numbersOf(reader, 1, 12)).toEqual([5]);
    expect(node.asked).toHaveLength(2);
  },
);

test('a limit without words of a rate limits the range, and delays nothing', async () => {
  const limit = new RpcFailure('rate-limited', {
    isErrorAnswer: true,
    mayBeTooLarge: true,
    retryAfterMs: 1_000,
  });
  const node = anEndpoint('a', {
    blocks: [900],
    allow: (from, to) => {
      if (to - from >= 20) throw limit;
    },
  });
  const reader = readerOf([node]);
  const range = { fromBlock: 800, toBlock: 950, contracts: CONTRACTS.slice(0, 1) };
  expect((await reader.read(range, head, new AbortController().signal)).logs).toHaveLength(1);
  expect(node.endpoint.waitMs).toBe(0);
});

test('addresses that are refused are read in several calls', async () => {
  const allow = (_: number, __: number, addresses: readonly string[]) =>
    addresses.length > 3 ? refuse('rpc-error') : undefined;
  const node = anEndpoint('0', { blocks: [4], allow });
  const reader = readerOf([node]);
  expect(await numbersOf(reader, 1, 10, CONTRACTS)).toHaveLength(8);
  node.asked.length = 0;
  await numbersOf(reader, 1, 10, CONTRACTS);
  expect(node.asked.every((ask) => ask.endsWith('/2') || ask.endsWith('/3'))).toBe(true);
});

test('a block with too many logs is read by contract, and one contract with too many is named', async () => {
  const busy = contractOf(5);
  const allow = (_: number, __: number, addresses: readonly string[]) =>
    addresses.includes(busy) ? refuse('rpc-error') : undefined;
  const reader = readerOf([anEndpoint('0', { blocks: [4], allow })]);
  const failure = await reader
    .read({ fromBlock: 4, toBlock: 4, contracts: CONTRACTS }, head, signal)
    .catch((error) => error);
  expect(failure).toBeInstanceOf(TooManyTransfers);
  expect(failure.contract).toBe(busy);
});

test('an endpoint that does not serve logs is replaced by another and asked last from then on', async () => {
  const broken = anEndpoint('0', { blocks: [], allow: () => refuse('method-unsupported') });
  const sound = anEndpoint('1', { blocks: [4] });
  const reader = readerOf([broken, sound]);
  expect(await numbersOf(reader, 1, 10)).toEqual([4]);
  expect(await numbersOf(reader, 1, 10)).toEqual([4]);
  expect(broken.asked).toHaveLength(1);
});

test('with a quorum the logs of all endpoints that it needs count', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [3] }), anEndpoint('1', { blocks: [3, 7] })], 2);
  expect(new Set(await numbersOf(reader, 1, 10))).toEqual(new Set([3, 7]));
});

test('a quorum that cannot be had fails the read', async () => {
  const broken = anEndpoint('1', { blocks: [], allow: () => refuse('method-unsupported') });
  const reader = readerOf([anEndpoint('0', { blocks: [3] }), broken], 2);
  await expect(numbersOf(reader, 1, 10)).rejects.toThrow('method-unsupported');
});

test('endpoints of a quorum that are on different forks fail the read', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [3] }), anEndpoint('1', { blocks: [3], fork: 1 })], 2);
  await expect(numbersOf(reader, 1, 10)).rejects.toThrow('block-mismatch');
});

test('a timeout halves the next read and is not repeated at once', async () => {
  let isSlow = true;
  const node = anEndpoint('0', { blocks: [3], allow: () => (isSlow ? refuse('timeout') : undefined) });
  const reader = readerOf([node]);
  await expect(
    reader.read({ fromBlock: 1, toBlock: 10, contracts: CONTRACTS }, head, signal),
  ).rejects.toThrow('timeout');
  isSlow = false;
  node.asked.length = 0;
  expect(await numbersOf(reader, 1, 4)).toEqual([3]);
  expect(node.asked.length).toBeGreaterThan(1);
});

const blocksTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
const failureOf = (reader: LogReader, toBlock: number) =>
  reader
    .read({ fromBlock: 1, toBlock, contracts: CONTRACTS.slice(0, 3) }, head, signal)
    .catch((error) => error);

test('a read with too many logs names the busiest contract, also if another endpoint serves no logs', async () => {
  const busy = contractOf(1);
  const logCountOf = (contract: string) => (contract === busy ? 1_700 : 1);
  const node = anEndpoint('0', { blocks: blocksTo(30), logCountOf });
  const broken = anEndpoint('1', { blocks: [], allow: () => refuse('method-unsupported') });
  const reader = readerOf([node, broken]);
  const failure = await failureOf(reader, 30);
  expect(failure).toBeInstanceOf(TooManyLogs);
  expect(failure.contract).toBe(busy);
  expect(reader.blocksMax).toBe(15);
  expect(node.asked).toEqual(['1-30/3']);
});

test('a read that takes too many calls is to be repeated for fewer blocks', async () => {
  const allow = (from: number, to: number) => (to > from ? refuse('rpc-error') : undefined);
  const logCountOf = (contract: string) => (contract === contractOf(2) ? 2 : 1);
  const failure = await failureOf(
    readerOf([anEndpoint('0', { blocks: blocksTo(400), allow, logCountOf })]),
    400,
  );
  expect(failure).toBeInstanceOf(TooManyLogs);
  expect(failure.contract).toBe(contractOf(2));
});

test('a read for which its time was too short is to be repeated for fewer blocks', async () => {
  const time = new AbortController();
  const allow = () => {
    time.abort();
    throw new RpcFailure('abandoned');
  };
  const reader = readerOf([anEndpoint('0', { blocks: [], allow })]);
  const before = reader.blocksMax;
  const range = { fromBlock: 1, toBlock: before, contracts: [contractOf(0)] };
  await expect(reader.read(range, head, time.signal)).rejects.toThrow();
  expect(reader.blocksMax).toBeLessThan(before);
});

test('an endpoint without the newest blocks is believed up to the last one that it has', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [991, 999], newest: 996 })]);
  const { logs, last } = await reader.read(
    { fromBlock: 990, toBlock: 1_000, contracts: [contractOf(0)] },
    head,
    signal,
  );
  expect([logs.map(({ blockNumber }) => blockNumber), last.number]).toEqual([[991], 993]);
});

test('an endpoint is believed up to the last block that it has, also where it is many fast blocks behind', async () => {
  const node = anEndpoint('a', { blocks: [871], newest: 890 });
  const reader = readerOf([node], 1, 100);
  const range = { fromBlock: 870, toBlock: 1_000, contracts: CONTRACTS.slice(0, 1) };
  const { logs, last } = await reader.read(range, head, new AbortController().signal);
  expect([logs.length, last.number <= 890]).toEqual([1, true]);
});

test('how far an endpoint is behind is remembered, so that further reads cost one call each', async () => {
  const node = anEndpoint('0', { blocks: [], newest: 990 });
  const reader = readerOf([node]);
  const range = { fromBlock: 900, toBlock: 1_000, contracts: [contractOf(0)] };
  await reader.read(range, head, signal);
  node.asked.length = 0;
  for (let reads = 0; reads < 4; reads += 1) await reader.read(range, head, signal);
  expect(node.asked).toHaveLength(4);
});

test('an endpoint that has the logs earlier is asked before one that is behind', async () => {
  const late = anEndpoint('0', { blocks: [], newest: 990 });
  const early = anEndpoint('1', { blocks: [] });
  const reader = readerOf([late, early]);
  for (let reads = 0; reads < 2; reads += 1) await numbersOf(reader, 985, 1_000);
  expect(early.asked).toEqual(['985-1000/1']);
});

test('a read is planned for the endpoint of the quorum that takes the fewest blocks in a call', async () => {
  const free = anEndpoint('0', { blocks: [] });
  const limited = anEndpoint('1', {
    blocks: [],
    allow: (from, to) => (to - from >= 20 ? refuse('rpc-error') : undefined),
  });
  const reader = readerOf([free, limited], 2);
  await numbersOf(reader, 1, 80);
  expect(reader.blocksPerCall).toBe(20);
});

test('an endpoint that has none of the blocks fails the read as not there yet', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [], newest: 900 })]);
  await expect(numbersOf(reader, 999, 1_000)).rejects.toThrow('block-unavailable');
});

test('another endpoint is asked in place of one that has none of the blocks', async () => {
  const reader = readerOf([
    anEndpoint('0', { blocks: [], newest: 900 }),
    anEndpoint('1', { blocks: [1_000] }),
  ]);
  expect(await numbersOf(reader, 999, 1_000)).toEqual([1_000]);
});

test('the head alone is read by its hash', async () => {
  const node = anEndpoint('0', { blocks: [1_000] });
  expect(await numbersOf(readerOf([node]), 1_000, 1_000)).toEqual([1_000]);
  expect(node.asked).toEqual(['1000-1000/1 by hash']);
});

test('a refusal of the newest blocks means that their logs are not there yet, and no limit is learned', async () => {
  const node = anEndpoint('0', {
    blocks: [990, 998],
    allow: (_, to) => (to > 996 ? refuse('rpc-error') : undefined),
  });
  const reader = readerOf([node]);
  const { logs, last } = await reader.read(
    { fromBlock: 900, toBlock: 1_000, contracts: [contractOf(0)] },
    head,
    signal,
  );
  expect([logs.map(({ blockNumber }) => blockNumber), last.number]).toEqual([[990], 992]);
  expect(reader.blocksPerCall).toBe(5_000);
});

test('a contract whose logs are refused once does not count as one with too many transfers', async () => {
  let count = 0;
  const node = anEndpoint('0', {
    blocks: [10],
    allow: () => (count++ === 0 ? refuse('rpc-error') : undefined),
  });
  expect(await numbersOf(readerOf([node]), 10, 10)).toEqual([10]);
});

test('a refusal of one late node behind the URL teaches no limit, however often the others answer', async () => {
  let count = 0;
  // The range, then its older part and its newest one.
  const allow = () => (count++ % 3 === 0 ? refuse('rpc-error') : undefined);
  const node = anEndpoint('0', { blocks: [950], allow });
  const reader = readerOf([node]);
  for (let reads = 0; reads < 4; reads += 1) expect(await numbersOf(reader, 900, 1_000)).toEqual([950]);
  expect([reader.blocksPerCall, node.asked.length]).toEqual([5_000, 12]);
});

test('an endpoint on another fork than the head fails the read', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [], fork: 1 })]);
  await expect(numbersOf(reader, 990, 1_000)).rejects.toThrow('block-mismatch');
});

test('the same event of two endpoints of a quorum counts once', async () => {
  const reader = readerOf([anEndpoint('0', { blocks: [3] }), anEndpoint('1', { blocks: [3] })], 2);
  expect(await numbersOf(reader, 1, 10)).toEqual([3]);
});

test('after fewer addresses were the cure of a refusal, ranges are as large as before', async () => {
  const allow = (_: number, __: number, addresses: readonly string[]) =>
    addresses.length > 2 ? refuse('rpc-error') : undefined;
  const reader = readerOf([anEndpoint('0', { blocks: [4], allow })]);
  await numbersOf(reader, 1, 10, CONTRACTS);
  expect(reader.blocksPerCall).toBe(5_000);
});

test('an endpoint that returns no logs any more is not taken for one whose contract has too many', async () => {
  let isAway = false;
  const node = anEndpoint('0', { blocks: [4], allow: () => (isAway ? refuse('rpc-error') : undefined) });
  const reader = readerOf([node]);
  await numbersOf(reader, 1, 10);
  isAway = true;
  await expect(numbersOf(reader, 1, 10)).rejects.toMatchObject({
    kind: 'rpc-error',
    words: 'no more than I like',
  });
});
