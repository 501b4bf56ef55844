import { setTimeout as delay, setInterval as every } from 'node:timers/promises';
import { Interface } from 'ethers';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import type { MinedChain } from './provider/mined-chain.ts';

/** A transfer that names a watched account. */
export type Move = {
  readonly contract: string;
  readonly account: string;
  readonly blockNumber: number;
  /** Whether it took the account's last unit of the ERC20. */
  readonly isLoss: boolean;
};

export type Mover = {
  /** Moves no more, and returns what moved, once all of it is in a block. */
  stop(): Promise<Move[]>;
};

const NATIVE_COIN = '0xde0b6b3a7640000';
/** No one has its key: tokens that are sent there are burnt. */
const BURNT = `0x${'dead'.padStart(40, '0')}`;
const FIRST_ID = 1_000;
const GAS = '0x4c4b40';
const RECEIPT_POLL_MS = 50;

const tokens = new Interface([
  'function mint(address to, uint256 amount)',
  'function transfer(address to, uint256 amount)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
]);

/** Wallets that the chain signs for, and what they hold. */
export type Wallets = {
  readonly accounts: readonly string[];
  /** Those with a unit of the ERC20. */
  readonly holders: Set<string>;
  /** The next free id of the ERC721. */
  nextId: number;
};

export async function makeWallets({ rpc }: MinedChain, count: number): Promise<Wallets> {
  const accounts = Array.from(
    { length: count },
    (_, i) => `0x${(0xabc0000 + i).toString(16).padStart(40, '3')}`,
  );
  for (const wallet of accounts) {
    await callJsonRpc(rpc, 'anvil_setBalance', [wallet, NATIVE_COIN]);
    await callJsonRpc(rpc, 'anvil_impersonateAccount', [wallet]);
  }
  return { accounts, holders: new Set(), nextId: FIRST_ID };
}

/**
 * Moves tokens of the accounts until it is stopped: one unit of the ERC20 is minted to an account
 * or burnt, in turn, and now and then an ERC721 or ERC1155 comes instead. An account moves at most
 * once in a block, so that the order within a block does not matter.
 */
export function startMoving(chain: MinedChain, wallets: Wallets, intervalMs: number): Mover {
  const { rpc, holder } = chain;
  const { accounts, holders } = wallets;
  const stopping = new AbortController();
  const sent: (Omit<Move, 'blockNumber'> & { readonly hash: string })[] = [];
  const movedAt = new Map<string, number>();

  const moveOf = (account: string, count: number) => {
    const encode = (name: string, args: readonly unknown[]) => tokens.encodeFunctionData(name, args);
    if (count % 4 === 2)
      return { from: holder, to: chain.erc721, data: encode('mint', [account, wallets.nextId++]) };
    if (count % 4 === 3)
      return {
        from: holder,
        to: chain.erc1155,
        data: encode('safeTransferFrom', [holder, account, 7, 0, '0x']),
      };
    if (holders.delete(account))
      return { from: account, to: chain.erc20, data: encode('transfer', [BURNT, 1]) };
    holders.add(account);
    return { from: holder, to: chain.erc20, data: encode('mint', [account, 1]) };
  };
  const moving = (async () => {
    for await (const _ of every(intervalMs, undefined, { signal: stopping.signal })) {
      const head = chain.newest().number;
      const account = accounts[sent.length % accounts.length] ?? '';
      if ((movedAt.get(account) ?? -1) >= head) continue;
      movedAt.set(account, head + 1);
      const move = moveOf(account, sent.length + Math.floor(sent.length / accounts.length));
      const hash = String(await callJsonRpc(rpc, 'eth_sendTransaction', [{ gas: GAS, ...move }]));
      sent.push({ contract: move.to.toLowerCase(), account, isLoss: move.from === account, hash });
    }
  })().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  const blockOf = async (hash: string): Promise<number> => {
    for (;;) {
      const receipt = await callJsonRpc(rpc, 'eth_getTransactionReceipt', [hash]);
      const { status, blockNumber } = (receipt ?? {}) as { status?: string; blockNumber?: string };
      if (status === '0x0') throw new Error(`a move reverted: ${hash}`);
      if (blockNumber !== undefined) return Number(blockNumber);
      await delay(RECEIPT_POLL_MS);
    }
  };
  return {
    async stop() {
      stopping.abort();
      await moving;
      const moves: Move[] = [];
      for (const { hash, ...move } of sent) moves.push({ ...move, blockNumber: await blockOf(hash) });
      return moves;
    },
  };
}
