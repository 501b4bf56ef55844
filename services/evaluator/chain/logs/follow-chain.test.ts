import type { LogPosition, LogPositionChange } from '#shared/stores/watches/log-positions.ts';
import type { Block } from '../blocks/block.ts';
import { BlockTime } from '../endpoints/block-time.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';
import { ChainFollower, type ContractState, type Transferred } from './follow-chain.ts';
import { TooManyLogs, TooManyTransfers } from './read-logs.ts';
import type { LogRange, TransferLog } from './transfer-log.ts';

const [BUSY, CALM] = [`0x${'b1'.repeat(20)}`, `0x${'ca'.repeat(20)}`];
const ALICE = `0x${'a1'.repeat(20)}`;
const [GAP_OF_BUSY, GAP_OF_CALM] = [BUSY, CALM].map((contract) => ({ contract, account: undefined }));
const hashOf = (number: number, fork = 0) => `0x${fork}${number.toString(16).padStart(63, '0')}`;
const logOf = (contract: string, blockNumber: number, fork = 0): TransferLog => ({
  position: '0x0',
  contract,
  blockNumber,
  blockHash: hashOf(blockNumber, fork),
  accounts: [ALICE],
});

/** A follower of a chain whose head is set, and of which one contract may have too many
 * transfers. */
function aFollower() {
  const state = {
    head: 200,
    headTimestamp: 0,
    /** Every block of another fork has another hash. */
    fork: 0,
    nowMs: 0,
    gone: [] as Block[],
    isBusy: false,
    /** Of every read of logs. */
    failure: undefined as RpcFailure | undefined,
    isHeadAway: false,
    isMine: true,
    forks: [] as number[],
    order: [] as string[],
    /** 128 blocks below the head: what a follower of an unknown chain begins with. */
    position: { since: 73, settledTo: 72, readTo: 72, blocks: new Map(), gaps: [] } as
      | LogPosition
      | undefined,
    readNotes: 0,
    transfers: [] as TransferLog[],
    published: [] as Transferred[],
    saved: [] as LogPositionChange[],
    states: new Map<string, ContractState>(),
    ranges: [] as LogRange[],
    isBrokerAway: false,
    /** Logs of one read; a read with more halves the blocks of the next one. */
    logsMax: Number.POSITIVE_INFINITY,
    blocksMax: 16_000,
    /** The newest block of which an endpoint has the logs. */
    newest: Number.POSITIVE_INFINITY,
  };
  const follower = new ChainFollower({
    blockTime: new BlockTime(1_000),
    async readHead(_, gone): Promise<Block> {
      state.gone.push(...gone);
      if (state.isHeadAway) throw new RpcFailure('method-unsupported');
      return {
        number: state.head,
        hash: hashOf(state.head, state.fork),
        parentHash: hashOf(state.head - 1, state.fork),
        timestamp: state.headTimestamp,
      };
    },
    logs: {
      get blocksMax() {
        return state.blocksMax;
      },
      get blocksPerCall() {
        return state.blocksMax;
      },
      async read(range) {
        state.ranges.push(range);
        if (state.failure) throw state.failure;
        if (state.isBusy && range.contracts.includes(BUSY)) throw new TooManyTransfers(BUSY);
        const logs = state.transfers.filter(
          ({ contract, blockNumber }) =>
            range.contracts.includes(contract) &&
            blockNumber >= range.fromBlock &&
            blockNumber <= range.toBlock,
        );
        const to = Math.max(range.fromBlock, Math.min(range.toBlock, state.newest));
        const last = {
          number: to,
          hash: hashOf(to, state.fork),
          parentHash: hashOf(to - 1, state.fork),
          timestamp: 0,
        };
        if (logs.length <= state.logsMax)
          return { logs: logs.filter(({ blockNumber }) => blockNumber <= to), last };
        state.blocksMax = Math.max(1, Math.floor((range.toBlock - range.fromBlock + 1) / 2));
        throw new TooManyLogs(logs);
      },
      readHeader: async (number) => ({
        number,
        hash: hashOf(number, state.fork),
        parentHash: hashOf(number - 1, state.fork),
        timestamp: 0,
      }),
    },
    load: async () => state.position,
    async save(change) {
      if (state.isMine) state.saved.push(change);
      return state.isMine;
    },
    async watchedAmong(accounts) {
      state.order.push('watched');
      return new Set(accounts);
    },
    async publish(transfers) {
      if (state.isBrokerAway) throw new Error('the broker is away');
      state.published.push(...transfers);
    },
    async setStates(contracts, next) {
      for (const contract of contracts) state.states.set(contract, next);
    },
    async noteReading(to) {
      state.order.push(`reading ${to}`);
      return state.isMine;
    },
    noteRead: async () => void state.readNotes++,
    noteFork: async (from) => {
      state.forks.push(from);
      return state.isMine;
    },
    observer: {
      onRead: () => undefined,
      onReorg: () => undefined,
      onGap: () => undefined,
      onBehind: () => undefined,
      onError: () => undefined,
    },
    monotonicMs: () => state.nowMs,
  });
  const step = (contracts = [BUSY, CALM]) => follower.step(contracts, new AbortController().signal);
  return { state, step };
}

test('a contract with too many transfers is left out, and the others are read in the same step', async () => {
  const { state, step } = aFollower();
  state.isBusy = true;
  state.transfers = [logOf(CALM, 199)];
  expect(await step()).toBe('ok');
  expect(state.published).toMatchObject([{ contract: CALM, account: ALICE, blockNumber: 199 }]);
  expect(state.states.get(CALM)).toEqual({ state: 'live' });
  expect(state.states.get(BUSY)).toMatchObject({ state: 'sweeps-only', reason: expect.any(String) });
  expect(state.saved.at(-1)?.gaps).toEqual([BUSY]);
});

test('a chain whose contracts all have too many transfers counts as read while its head can be read', async () => {
  const { state, step } = aFollower();
  state.isBusy = true;
  expect(await step([BUSY])).toBe('ok');
  expect(state.states.get(BUSY)).toMatchObject({ state: 'sweeps-only' });
  expect(state.readNotes).toBe(1);
});

const REFUSAL = new RpcFailure('rpc-error', { isErrorAnswer: true, words: 'no' });

test.each([
  ['do not offer the method', new RpcFailure('method-unsupported')],
  ['refuse in words of their own', REFUSAL],
])('a chain whose endpoints %s for logs counts as read while its head can be read', async (_, failure) => {
  const { state, step } = aFollower();
  state.failure = failure;
  for (let steps = 0; steps < 5; steps++) await step();
  expect([state.readNotes, state.states.get(BUSY)?.state]).toEqual([1, 'sweeps-only']);
  state.isHeadAway = true;
  state.nowMs += 60_000;
  for (let steps = 0; steps < 5; steps++) await step();
  expect(state.readNotes).toBe(1);
});

test.each([new RpcFailure('timeout'), new RpcFailure('unreachable')])(
  'a chain whose endpoints do not answer when they are asked for logs does not count as read: %s',
  async (failure) => {
    const { state, step } = aFollower();
    state.failure = failure;
    for (let steps = 0; steps < 5; steps++) await step();
    expect([state.readNotes, state.states.get(BUSY)?.state]).toEqual([0, 'sweeps-only']);
  },
);

test('a contract that was left out is live again within a minute, and then all its members are due', async () => {
  const { state, step } = aFollower();
  state.isBusy = true;
  await step();
  state.isBusy = false;
  state.nowMs = 29_000;
  state.head += 1;
  await step();
  expect(state.published).toEqual([]);
  state.nowMs = 31_000;
  state.head += 1;
  await step();
  expect(state.published).toEqual([
    { contract: BUSY, account: undefined, blockNumber: state.head, isDropped: false },
  ]);
  expect(state.states.get(BUSY)).toEqual({ state: 'live' });
  expect(state.saved.at(-1)?.gaps).toEqual([]);
});

test('a contract that still has too many transfers makes no member due', async () => {
  const { state, step } = aFollower();
  state.isBusy = true;
  for (let at = 0; at < 5; at += 1) {
    state.nowMs += 31_000;
    state.head += 1;
    await step();
  }
  expect(state.published).toEqual([]);
});

test('the position moves only after the broker has acknowledged the transfers', async () => {
  const { state, step } = aFollower();
  state.transfers = [logOf(CALM, 199)];
  state.isBrokerAway = true;
  expect(await step()).toBe('failed');
  expect(state.saved).toEqual([]);
  state.isBrokerAway = false;
  expect(await step()).toBe('ok');
  expect(state.published).toMatchObject([{ blockNumber: 199 }]);
  expect(state.saved.at(-1)?.readTo).toBe(200);
});

test('a follower stops when its lease is lost', async () => {
  const { state, step } = aFollower();
  state.isMine = false;
  expect(await step()).toBe('lost');
});

test('a fork is noted before its transfers, by the first block that may be of the losing one', async () => {
  const { state, step } = aFollower();
  state.transfers = [logOf(CALM, 197), logOf(CALM, 199)];
  await step();
  state.fork = 1;
  state.head = 199;
  state.transfers = [logOf(CALM, 197), logOf(BUSY, 198, 1)];
  state.published = [];
  await step();
  expect(state.forks).toEqual([198]);
  expect(state.published).toMatchObject([
    { contract: CALM, blockNumber: 199, isDropped: true },
    { contract: BUSY, blockNumber: 198, isDropped: false },
  ]);
});

test('a fork drops the blocks that the endpoint does not have yet, and they are read once it has them', async () => {
  const { state, step } = aFollower();
  state.transfers = [logOf(CALM, 197), logOf(CALM, 200)];
  await step();
  state.published = [];
  state.fork = 1;
  state.head = 201;
  state.newest = 199;
  state.transfers = [logOf(CALM, 197), logOf(BUSY, 200, 1)];
  await step();
  expect(state.forks).toEqual([198]);
  expect(state.published).toMatchObject([{ contract: CALM, blockNumber: 200, isDropped: true }]);
  state.published = [];
  state.newest = Number.POSITIVE_INFINITY;
  await step();
  expect(state.forks).toEqual([198]);
  expect(state.published).toMatchObject([{ contract: BUSY, blockNumber: 200, isDropped: false }]);
  expect(state.saved.at(-1)?.readTo).toBe(201);
});

test('a transfer names its event, the newest of a block', async () => {
  const { state, step } = aFollower();
  const event = (logIndex: number) => ({ logIndex, transactionHash: `0x${logIndex}` });
  state.transfers = [2, 7, 3].map((index) => ({ ...logOf(CALM, 199), ...event(index) }));
  await step();
  expect(state.published).toMatchObject([{ blockNumber: 199, event: event(7) }]);
});

test('without a position the contracts have a gap, because it may have been lost', async () => {
  const { state, step } = aFollower();
  state.position = undefined;
  state.transfers = [logOf(CALM, 199)];
  await step();
  expect(state.published).toMatchObject([
    { contract: CALM, account: ALICE },
    { contract: BUSY, account: undefined },
    { contract: CALM, account: undefined },
  ]);
});

test('a chain that has only its first block has a position and is live', async () => {
  const { state, step } = aFollower();
  state.position = undefined;
  state.head = 0;
  await step();
  expect(state.published).toMatchObject([GAP_OF_BUSY, GAP_OF_CALM]);
  expect([state.saved.at(-1)?.readTo, state.states.get(CALM)]).toEqual([0, { state: 'live' }]);
});

test('who is watched is asked only after the blocks are noted as being read', async () => {
  const { state, step } = aFollower();
  state.transfers = [logOf(CALM, 199)];
  await step();
  expect(state.order).toEqual(['reading 200', 'watched']);
});

test('it is noted at most every 10 s that the logs were read up to the head', async () => {
  const { state, step } = aFollower();
  for (const atMs of [0, 1_000, 9_999, 10_000]) {
    state.nowMs = atMs;
    await step();
  }
  expect(state.readNotes).toBe(2);
});

test('a head that is far below the window for long is followed as a chain that started over', async () => {
  const { state, step } = aFollower();
  await step();
  state.head = 20;
  for (let at = 0; at < 10; at += 1) await step();
  expect(state.ranges).toHaveLength(1);
  state.transfers = [logOf(CALM, 20)];
  await step();
  expect(state.published).toMatchObject([{ account: ALICE, blockNumber: 20 }, GAP_OF_BUSY, GAP_OF_CALM]);
  expect(state.saved.at(-1)?.readTo).toBe(20);
});

test.each([0, 16_000])(
  'a position that a false head moved up is given up with a gap, so that no transfer is lost (steps of %d ms)',
  async (stepMs) => {
    const { state, step } = aFollower();
    await step();
    state.head = 3_200;
    for (let at = 0; at < 3; at += 1) {
      state.nowMs += stepMs;
      await step();
    }
    expect(state.published).toEqual([]);
    // The chain without the false head; 128 blocks below it is above the transfer.
    state.head = 400;
    state.transfers = [logOf(CALM, 210)];
    for (let at = 0; at < 11; at += 1) await step();
    expect(state.forks).toEqual([0]);
    expect(state.published).toMatchObject([GAP_OF_BUSY, GAP_OF_CALM]);
    expect(state.saved.at(-1)?.readTo).toBe(400);
  },
);

test('transfers that a false head has passed over are published 15 s later at the latest', async () => {
  const { state, step } = aFollower();
  await step();
  state.head = 320;
  await step();
  state.head = 205;
  state.headTimestamp = 1;
  state.transfers = [logOf(CALM, 203)];
  for (const nowMs of [1_000, 8_000, 16_001]) {
    state.nowMs = nowMs;
    await step();
  }
  expect(state.published).toMatchObject([{ contract: CALM, account: ALICE, blockNumber: 203 }]);
  expect(state.saved.at(-1)?.readTo).toBe(205);
  const reads = state.ranges.length;
  state.nowMs = 60_000;
  await step();
  expect(state.ranges.length - reads).toBeLessThanOrEqual(1);
});

test('an endpoint that is stuck below the position, while no other one answers, drops no block', async () => {
  const { state, step } = aFollower();
  state.headTimestamp = 10;
  state.transfers = [logOf(CALM, 199)];
  await step();
  state.published = [];
  state.head = 195;
  state.headTimestamp = 9;
  for (const nowMs of [1_000, 16_001, 60_000]) {
    state.nowMs = nowMs;
    await step();
  }
  expect([state.forks, state.published]).toEqual([[], []]);
});

test('a head whose logs no endpoint has is told when the next one is asked for', async () => {
  const { state, step } = aFollower();
  state.head = 328;
  state.failure = new RpcFailure('block-unavailable');
  await step();
  state.failure = undefined;
  await step();
  await step();
  expect(state.gone.map(({ number }) => number)).toEqual([328]);
});

test('a head that is too far ahead to catch up gives up the position only once its logs were read', async () => {
  const { state, step } = aFollower();
  await step();
  state.head = 100_000;
  state.failure = new RpcFailure('block-unavailable');
  expect(await step()).toBe('failed');
  state.failure = undefined;
  state.head = 201;
  state.transfers = [logOf(CALM, 201)];
  await step();
  expect(state.published).toMatchObject([{ account: ALICE, blockNumber: 201 }]);
  expect(state.published).toHaveLength(1);
  state.published = [];
  state.head = 100_000;
  await step();
  expect(state.published).toMatchObject([GAP_OF_BUSY, GAP_OF_CALM]);
  expect(state.saved.at(-1)?.readTo).toBe(100_000);
});

const busyLogs = (firstBlock: number, count: number, fork = 0) =>
  Array.from({ length: count }, (_, n) => logOf(BUSY, firstBlock + n, fork));

test('after a reorg whose window has too many logs, only the contract with the most is left out', async () => {
  const { state, step } = aFollower();
  await step();
  state.fork = 1;
  state.head = 201;
  state.logsMax = 20;
  state.transfers = [logOf(CALM, 199, 1), ...busyLogs(150, 30, 1)];
  expect(await step()).toBe('ok');
  expect(state.published).toMatchObject([{ contract: CALM, blockNumber: 199 }]);
  expect(state.states.get(CALM)).toEqual({ state: 'live' });
  expect(state.states.get(BUSY)).toMatchObject({ state: 'sweeps-only' });
  state.nowMs = 31_000;
  state.head = 202;
  state.logsMax = 100;
  await step();
  expect(state.published.at(-1)).toMatchObject({ contract: BUSY, account: undefined });
  expect(state.states.get(BUSY)).toEqual({ state: 'live' });
});

test.each([1, 2, 3])(
  'a read of %d new blocks with too many logs leaves out a contract once it cannot be smaller',
  async (count) => {
    const { state, step } = aFollower();
    await step();
    state.head = 200 + count;
    state.logsMax = 20;
    state.transfers = [logOf(CALM, 201), ...Array.from({ length: 30 }, () => logOf(BUSY, 201))];
    const results = [await step(), await step(), await step()];
    expect(results.at(-1)).toBe('ok');
    expect(state.published).toMatchObject([{ contract: CALM }]);
    expect(state.states.get(CALM)).toEqual({ state: 'live' });
    expect(state.states.get(BUSY)).toMatchObject({ state: 'sweeps-only' });
  },
);

test('a read with too many logs that can be smaller is repeated for fewer blocks, with every contract', async () => {
  const { state, step } = aFollower();
  await step();
  state.head = 240;
  state.logsMax = 25;
  state.transfers = busyLogs(201, 30);
  // First without the blocks that are not settled, then fewer new ones.
  for (const result of ['failed', 'failed', 'ok']) expect(await step()).toBe(result);
  expect(state.published).toHaveLength(30);
  expect(state.states.get(BUSY)).toEqual({ state: 'live' });
});

test('a chain with more busy contracts than a step leaves out is not live', async () => {
  const { state, step } = aFollower();
  const contracts = Array.from({ length: 50 }, (_, n) => `0x${(n + 1).toString(16).padStart(40, '0')}`);
  await step(contracts);
  state.logsMax = 0;
  for (let at = 0; at < 3; at += 1) {
    state.head += 1;
    state.transfers = contracts.map((contract) => logOf(contract, state.head));
    expect(await step(contracts)).toBe('failed');
  }
  const states = contracts.map((contract) => state.states.get(contract)?.state);
  expect(new Set(states)).toEqual(new Set(['sweeps-only']));
});

test('transfers whose logs come late are published, also while the chain makes no further block', async () => {
  const { state, step } = aFollower();
  await step();
  state.transfers = [logOf(CALM, 200)];
  await step();
  expect(state.published).toEqual([]);
  state.nowMs = 15_000;
  await step();
  expect(state.published).toMatchObject([{ contract: CALM, blockNumber: 200 }]);
  const reads = state.ranges.length;
  state.nowMs = 60_000;
  await step();
  expect(state.ranges).toHaveLength(reads);
});

test('logs that are a little behind the head are followed live, and far behind they are not', async () => {
  const { state, step } = aFollower();
  state.newest = 190;
  await step();
  expect([state.states.get(CALM), state.saved.at(-1)?.readTo]).toEqual([{ state: 'live' }, 190]);
  state.head = 206;
  await step();
  expect(state.states.get(CALM)).toMatchObject({ state: 'sweeps-only' });
  state.newest = Number.POSITIVE_INFINITY;
  state.transfers = [logOf(CALM, 200)];
  await step();
  expect(state.published).toMatchObject([{ blockNumber: 200 }]);
  expect(state.states.get(CALM)).toEqual({ state: 'live' });
});
