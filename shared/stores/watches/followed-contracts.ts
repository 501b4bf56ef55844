import { z } from 'zod';
import { BlockTag } from '#shared/contracts/rules/rule.ts';
import {
  FOLLOWED_PER_CHAIN_MAX,
  FOLLOWED_PER_WATCH_MAX,
  type Watch,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import { LUA_HAS_ROOM } from '#shared/fairness/fair-shares.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { logLeaseKey } from './log-positions.ts';
import { makeWalletIndex } from './members/wallet-index.ts';

/** A contract whose transfers concern a watch; the address in lower case. */
export type FollowedContract = {
  readonly chainId: number;
  readonly contractAddress: string;
  /** Of the watch: a transfer is published when this block has reached it. */
  readonly blockTag: BlockTag;
};

type FollowingWatch = Pick<Watch, 'accountId' | 'clientId' | 'watchId' | 'createdAt'>;

const FollowingState = z.object({
  state: z.enum(['live', 'sweeps-only']),
  /** In plain words: for `sweeps-only` the cause, for `live` what following cannot see. */
  reason: z.string().optional(),
});
export type FollowingState = z.infer<typeof FollowingState>;

const chainKey = (chainId: number | string): string => `followed:${chainId}`;
const stateKey = (chainId: number | string): string => `following:${chainId}`;
/** By contract that is followed for the watch, since when; and `KNOWN`. */
const sinceKey = (uid: string): string => `followed-since:${uid}`;
/** The field that tells a watch without contracts from one of which Redis has lost them. */
const KNOWN = '-';
const silentKey = (uid: string): string => `followed-silent:${uid}`;
/** The reader of logs starts with a contract within seconds after a watch wants it followed. */
const START_MS_MAX = 120_000;

/** A role of a member whose balance had changed when a sweep looked, although no transfer of the
 * contract named its wallets. */
const SilentChange = z.object({
  accounts: z.array(z.string()),
  /** Of the contract's chain, the block that the sweep read. */
  blockNumber: z.number(),
  foundAt: z.string(),
});
export type SilentChange = z.infer<typeof SilentChange>;

/**
 * KEYS: contracts of the watch, silent changes of it. ARGV: uid, account, `KNOWN` or '' for a watch
 * that is gone, then the watch's contracts from now on (`chainId/address`). A chain's hash counts
 * the watches of each contract, and one for each account and for each app those of its watches. The
 * places of a chain are shared under the rule of `FairShares`: a contract for which the owner has
 * no room is left out, unless it is followed already.
 */
const FOLLOW = `${REQUIRE_VIEW}${LUA_HAS_ROOM}
local app = string.match(ARGV[1], '^[^/]*')
local function places(name)
  local chain, contract = string.match(name, '^(%d+)/(.+)$')
  local ofChain = ofSystem('followed:' .. chain)
  return ofChain, ofChain .. ':account:' .. ARGV[2], ofChain .. ':app:' .. app, contract, ofSystem('following:' .. chain)
end
local function release(key, contract)
  if redis.call('HINCRBY', key, contract, -1) > 0 then return false end
  redis.call('HDEL', key, contract)
  return true
end
local wanted = {}
wanted['${KNOWN}'] = true
for i = 4, #ARGV do wanted[ARGV[i]] = true end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], '${KNOWN}') else redis.call('HSET', KEYS[1], '${KNOWN}', '0') end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not wanted[name] then
    redis.call('HDEL', KEYS[1], name)
    redis.call('HDEL', KEYS[2], name)
    local ofChain, ofAccount, ofApp, contract, states = places(name)
    release(ofAccount, contract)
    release(ofApp, contract)
    if release(ofChain, contract) then redis.call('HDEL', states, contract) end
  end
end
for i = 4, #ARGV do
  local ofChain, ofAccount, ofApp, contract = places(ARGV[i])
  local counts = { redis.call('HLEN', ofChain), redis.call('HLEN', ofAccount), redis.call('HLEN', ofApp) }
  local isAllowed = redis.call('HEXISTS', ofChain, contract) == 1
    or hasRoom(${FOLLOWED_PER_CHAIN_MAX}, 1, counts[1], counts[2], counts[3], 1)
  if isAllowed and redis.call('HSETNX', KEYS[1], ARGV[i], redis.call('TIME')[1] .. '000') == 1 then
    redis.call('HINCRBY', ofChain, contract, 1)
    redis.call('HINCRBY', ofAccount, contract, 1)
    redis.call('HINCRBY', ofApp, contract, 1)
  end
end
return 1
`;

/** KEYS: contracts of the watch. ARGV: contract. Nothing, not even `KNOWN`: -1. */
const IS_FOLLOWED = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end
return redis.call('EXISTS', KEYS[1]) - 1
`;

/** KEYS: contracts of the watch. ARGV: now. */
const NOTE_MISSED = `${REQUIRE_VIEW}
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do redis.call('HSET', KEYS[1], name, ARGV[1]) end
return 1
`;

export function makeFollowedContracts(redis: Redis) {
  const follow = makeScript<number>(redis, FOLLOW);
  const isFollowed = makeBatchedScript<number>(redis, IS_FOLLOWED);
  const noteMissed = makeScript<number>(redis, NOTE_MISSED);
  return {
    /** Says which contracts a watch is about. */
    async follow(watch: FollowingWatch, contracts: readonly FollowedContract[]): Promise<void> {
      const uid = watchUid(watch);
      const names = contracts.slice(0, FOLLOWED_PER_WATCH_MAX).map(nameOf);
      await follow([sinceKey(uid), silentKey(uid)], [uid, watch.accountId, KNOWN, ...names]);
    },
    /** Nothing is followed for a watch that is gone. */
    async forget(watch: FollowingWatch): Promise<void> {
      const uid = watchUid(watch);
      await follow([sinceKey(uid), silentKey(uid)], [uid, watch.accountId, '']);
    },
    /** Whether a contract is followed for a watch; undefined if Redis has lost which are. Anyone's
     * transfer asks it of every watch that has the wallet: such questions share one command. */
    async isFollowedBy(uid: string, contract: FollowedContract): Promise<boolean | undefined> {
      const answer = await isFollowed([sinceKey(uid)], [nameOf(contract)]);
      return answer < 0 ? undefined : answer === 1;
    },
    /** By chain on which a watch follows contracts, since when it does, or may have missed no transfer,
     * epoch ms. */
    chainsOf: (uid: string): Promise<ReadonlyMap<number, number>> =>
      inStore(async () => {
        const since = new Map<number, number>();
        for (const [name, atMs] of Object.entries(await redis.hgetall(sinceKey(uid)))) {
          if (name === KNOWN) continue;
          const chainId = Number.parseInt(name, 10);
          since.set(chainId, Math.min(since.get(chainId) ?? Infinity, Number(atMs)));
        }
        return since;
      }),
    /** Transfers for a watch may have been missed: a change that a sweep finds says nothing of its
     * contract until it is looked at again. */
    noteMissed: async (uid: string, nowMs: number): Promise<void> =>
      void (await noteMissed([sinceKey(uid)], [nowMs])),
    /** Notes a change of which no transfer told, if the contract was followed without a gap since
     * the member was last checked. */
    noteSilent: (
      uid: string,
      contract: FollowedContract,
      change: SilentChange,
      checkedAtMs: number,
    ): Promise<void> =>
      inStore(async () => {
        const since = await redis.hget(sinceKey(uid), nameOf(contract));
        if (since !== null && Number(since) + START_MS_MAX < checkedAtMs)
          await redis.hsetnx(silentKey(uid), nameOf(contract), JSON.stringify(change));
      }),
    /** A transfer came later than the sweep that found its change. */
    withdrawSilent: (
      uid: string,
      {
        account,
        blockNumber,
        ...contract
      }: FollowedContract & { readonly account: string; readonly blockNumber: number },
    ): Promise<void> =>
      inStore(async () => {
        const text = await redis.hget(silentKey(uid), nameOf(contract));
        if (text === null) return;
        const change = SilentChange.parse(JSON.parse(text));
        if (change.accounts.includes(account) && blockNumber <= change.blockNumber)
          await redis.hdel(silentKey(uid), nameOf(contract));
      }),
    /** Every followed contract of a chain, once for each block tag. */
    list: (chainId: number): Promise<FollowedContract[]> =>
      inStore(async () => (await redis.hkeys(chainKey(chainId))).map((field) => contractOf(chainId, field))),
    /** For the reader of logs: which of these wallets, in lower case, belong to a member of any
     * watch. */
    watchedAmong: makeWalletIndex(redis).watchedAmong,
    /** For the reader of logs: says how contracts of a chain are followed. */
    setStates: (
      of: Omit<FollowedContract, 'contractAddress'>,
      contracts: readonly string[],
      state: FollowingState,
    ): Promise<void> =>
      inStore(async () => {
        const fields = contracts.map((contractAddress) => fieldOf({ ...of, contractAddress }));
        const text = JSON.stringify(state);
        if (fields.length > 0)
          await redis.hset(stateKey(of.chainId), Object.fromEntries(fields.map((field) => [field, text])));
      }),
    /** How each of a watch's contracts is followed, in the order given. */
    states: (
      uid: string,
      contracts: readonly FollowedContract[],
    ): Promise<(Omit<FollowedContract, 'blockTag'> & FollowingState)[]> =>
      inStore(async () => {
        const [names, silent] = await Promise.all([
          redis.hkeys(sinceKey(uid)),
          redis.hgetall(silentKey(uid)),
        ]);
        const followed = new Set(names);
        const isFollowed = (contract: FollowedContract) => followed.has(nameOf(contract));
        const ofChains = Map.groupBy(contracts.filter(isFollowed), ({ chainId }) => chainId);
        // A list of watches asks for thousands of contracts: all of a chain in one command.
        const stored = new Map<string, string>();
        await Promise.all(
          [...ofChains].map(async ([chainId, ofChain]) => {
            // Without a reader of logs, nothing corrects the last one's entries.
            const [isRead, texts] = await Promise.all([
              redis.exists(logLeaseKey(chainId)),
              redis.hmget(stateKey(chainId), ...ofChain.map(fieldOf)),
            ]);
            for (const [index, contract] of ofChain.entries()) {
              const text = texts[index];
              if (isRead === 1 && text) stored.set(nameOf(contract), text);
            }
          }),
        );
        return contracts.map((contract) => {
          const { chainId, contractAddress } = contract;
          if (!isFollowed(contract)) return { chainId, contractAddress, ...TOO_MANY };
          const text = stored.get(nameOf(contract));
          const state = text === undefined ? NOT_YET : FollowingState.parse(JSON.parse(text));
          const change = state.state === 'live' ? silent[nameOf(contract)] : undefined;
          return {
            chainId,
            contractAddress,
            ...state,
            ...(change === undefined ? {} : describeSilent(change)),
          };
        });
      }),
  };
}

/** The contracts that watches want followed, and how each is followed: written by both sides, read
 * by both. */
export type FollowedContracts = ReturnType<typeof makeFollowedContracts>;

/** The field of a contract in the hashes of its chain. */
const fieldOf = ({ contractAddress, blockTag }: FollowedContract): string =>
  blockTag === 'latest' ? contractAddress : `${contractAddress}/${blockTag}`;

function contractOf(chainId: number, field: string): FollowedContract {
  const [contractAddress = '', blockTag = 'latest'] = field.split('/');
  return { chainId, contractAddress, blockTag: BlockTag.parse(blockTag) };
}

const nameOf = (contract: FollowedContract): string => `${contract.chainId}/${fieldOf(contract)}`;

const describeSilent = (text: string): { readonly reason: string } => {
  const { foundAt } = SilentChange.parse(JSON.parse(text));
  return {
    reason:
      `On ${foundAt.slice(0, 10)} a sweep found a balance that had changed without a transfer event: ` +
      'such changes of this token are found by sweeps alone.',
  };
};

const TOO_MANY: FollowingState = {
  state: 'sweeps-only',
  reason:
    `At most ${FOLLOWED_PER_WATCH_MAX} contracts of a watch are followed, and of a chain ` +
    `${FOLLOWED_PER_CHAIN_MAX} in all, shared by account, then by client app: of one that follows some no ` +
    'more than are still free above a quarter.',
};
const NOT_YET: FollowingState = {
  state: 'sweeps-only',
  reason: 'No evaluator reads the logs of the chain yet.',
};
