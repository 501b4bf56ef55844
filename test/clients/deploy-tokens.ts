import { setTimeout as delay } from 'node:timers/promises';
import {
  concat,
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  http,
  parseAbi,
  type TransactionSerializable,
} from 'viem';
import { type HDAccount, mnemonicToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import type { Token } from './compile-tokens.ts';
import type { Client } from './start-clients.ts';

const PHRASE = 'test test test test test test test test test test test junk';
const accountOf = (addressIndex: number): HDAccount => mnemonicToAccount(PHRASE, { addressIndex });
/** Deploys, holds and delegates; on go-ethereum only the first account owns native coin unless it
 * was sent some. */
const [DEPLOYER, HOLDER, DELEGATOR, TOKEN_DELEGATOR, PRECOMPILE_DELEGATOR] = [9, 1, 2, 3, 4].map(
  accountOf,
) as [HDAccount, HDAccount, HDAccount, HDAccount, HDAccount];

/** Owns nothing until the holder sends it some. */
const STRANGER: Hex = `0x${'51'.repeat(20)}`;
/** The most gas of one transaction since Osaka. */
const GAS = 16_000_000n;
const FEE = 10n ** 10n;
const RECEIPT_POLLS_MAX = 2_000;
const RECEIPT_POLL_MS = 10;
/** A chain is at rest when its head has been the same for a second. */
const LOOKS_AT_REST = 10;
const LOOK_PAUSE_MS = 100;
/** The EVM's precompiles answer without code; two of them use up all gas or fail on most input. */
const PRECOMPILES = [0x01, 0x02, 0x03, 0x04, 0x05, 0x09, 0x0a, 0x100];

/** A contract that rules are made for. */
export type Target = { readonly name: string; readonly address: string };

export type Deployment = {
  readonly targets: readonly Target[];
  readonly accounts: Readonly<Record<'key' | 'safe' | 'delegator' | 'stranger', string>>;
  /** The delegate registry, in which `key` and `delegator` delegated to `stranger`. */
  readonly registry: string;
  readonly tokenCount: number;
  /** The last block before tokens moved and vaults delegated. */
  readonly pastBlock: number;
};

/** Functions that vaults call, of tokens and of delegate.xyz's registry. */
const WRITES = parseAbi([
  'function delegateAll(address to, bytes32 rights, bool enable)',
  'function delegateContract(address to, address target, bytes32 rights, bool enable)',
  'function delegateERC721(address to, address target, uint256 id, bytes32 rights, bool enable)',
  'function delegateERC20(address to, address target, bytes32 rights, uint256 amount)',
  'function delegateERC1155(address to, address target, uint256 id, bytes32 rights, uint256 amount)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferFrom(address from, address to, uint256 id)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
]);
const NO_RIGHTS: Hex = `0x${'0'.repeat(64)}`;

/**
 * Deploys every token with the same three holders: an account with a key, a Safe, and an account
 * that delegates to code (EIP-7702) where the client supports these. The addresses are the same on
 * every client.
 */
export async function deployTokens(
  rpc: string,
  tokens: readonly Token[],
  { hasEip7702 }: Pick<Client, 'hasEip7702'>,
): Promise<Deployment> {
  const chain = startSigning(rpc);
  const tokenNamed = (name: string): Token => {
    const token = tokens.find((candidate) => candidate.name === name);
    if (token === undefined) throw new Error(`there is no token ${name}`);
    return token;
  };
  for (const { address } of [HOLDER, DELEGATOR]) await chain.send({ to: address, value: 10n ** 18n });
  const registry = await chain.deploy(tokenNamed('Registry'), []);
  const receiver = await chain.deploy(tokenNamed('ReceiveHandler'), []);
  const safe = await chain.deploy(tokenNamed('SafeAccount'), [HOLDER.address]);
  const holders = [HOLDER.address, safe, DELEGATOR.address];
  if (hasEip7702) await chain.delegate(DELEGATOR, receiver);
  const isAccount = ({ name }: Token) => ['ReceiveHandler', 'SafeAccount', 'Registry'].includes(name);
  const targets: Target[] = [];
  for (const token of tokens.filter((candidate) => !isAccount(candidate)))
    targets.push({ name: token.name, address: await chain.deploy(token, holders) });
  const delegates: Target[] = [];
  const plain = targets.find(({ name }) => name === 'Oz5Erc20');
  if (hasEip7702 && plain !== undefined) {
    await chain.delegate(TOKEN_DELEGATOR, plain.address);
    await chain.delegate(PRECOMPILE_DELEGATOR, precompile(2));
    delegates.push(
      { name: 'EIP-7702 account of a token', address: TOKEN_DELEGATOR.address },
      { name: 'EIP-7702 account of a precompile', address: PRECOMPILE_DELEGATOR.address },
    );
  }
  const pastBlock = Number(await callJsonRpc(rpc, 'eth_blockNumber', []));
  await moveAndDelegate(chain, targets, registry);
  await untilAtRest(rpc);
  return {
    tokenCount: targets.length,
    targets: [
      ...targets,
      ...delegates,
      { name: 'Safe', address: safe },
      { name: 'EIP-7702 account', address: DELEGATOR.address },
      { name: 'account with a key', address: HOLDER.address },
      { name: 'nobody', address: STRANGER },
      ...PRECOMPILES.map((number) => ({ name: `precompile ${number}`, address: precompile(number) })),
    ],
    accounts: { key: HOLDER.address, safe, delegator: DELEGATOR.address, stranger: STRANGER },
    registry,
    pastBlock,
  };
}

/** go-ethereum's developer mode may seal blocks without transactions after the last one. */
async function untilAtRest(rpc: string): Promise<void> {
  for (let last = '', looks = 0; looks < LOOKS_AT_REST; await delay(LOOK_PAUSE_MS)) {
    const head = String(await callJsonRpc(rpc, 'eth_blockNumber', []));
    looks = head === last ? looks + 1 : 0;
    last = head;
  }
}

/** The holder sends some of its tokens to the stranger and delegates all; the delegator delegates a
 * part of the rest. */
async function moveAndDelegate(
  chain: ReturnType<typeof startSigning>,
  targets: readonly Target[],
  registry: string,
): Promise<void> {
  const addressOf = (name: string) => targets.find((target) => target.name === name)?.address as Hex;
  type Write = Parameters<typeof encodeFunctionData<typeof WRITES>>[0];
  const write = (from: HDAccount, to: string, call: Omit<Write, 'abi'>) =>
    chain.send({ to: to as Hex, data: encodeFunctionData({ abi: WRITES, ...call } as Write) }, from);
  for (const name of ['Oz5Erc20', 'Oz5Erc20Votes', 'Oz1Erc20', 'Solmate20', 'Solady20', 'StakedAaveMaker'])
    await write(HOLDER, addressOf(name), { functionName: 'transfer', args: [STRANGER, 5n] });
  for (const name of ['Oz5Erc721', 'Solady721'])
    await write(HOLDER, addressOf(name), {
      functionName: 'transferFrom',
      args: [HOLDER.address, STRANGER, 2n],
    });
  const sent = [HOLDER.address, STRANGER, 1n, 3n, '0x'] as const;
  await write(HOLDER, addressOf('Oz5Erc1155'), { functionName: 'safeTransferFrom', args: sent });
  await chain.send({ to: STRANGER, value: 7n }, HOLDER);
  await write(HOLDER, registry, { functionName: 'delegateAll', args: [STRANGER, NO_RIGHTS, true] });
  const parts: Omit<Write, 'abi'>[] = [
    { functionName: 'delegateERC20', args: [STRANGER, addressOf('Oz5Erc20'), NO_RIGHTS, 10n ** 18n] },
    { functionName: 'delegateERC20', args: [STRANGER, addressOf('Solady20'), NO_RIGHTS, 2n ** 256n - 1n] },
    { functionName: 'delegateERC721', args: [STRANGER, addressOf('Oz5Erc721'), 7n, NO_RIGHTS, true] },
    { functionName: 'delegateERC1155', args: [STRANGER, addressOf('Oz5Erc1155'), 3n, NO_RIGHTS, 4n] },
    { functionName: 'delegateContract', args: [STRANGER, addressOf('Oz5Erc20Votes'), NO_RIGHTS, true] },
    { functionName: 'delegateContract', args: [STRANGER, addressOf('Solady721'), NO_RIGHTS, true] },
    { functionName: 'delegateContract', args: [STRANGER, addressOf('StakedAaveMaker'), NO_RIGHTS, true] },
    { functionName: 'delegateContract', args: [STRANGER, addressOf('StakedAaveMaker'), NO_RIGHTS, false] },
  ];
  for (const part of parts) await write(DELEGATOR, registry, part);
}

const precompile = (number: number): Hex => `0x${number.toString(16).padStart(40, '0')}`;

/** Sends transactions that the deployer or another account signs, one after the other. */
function startSigning(rpc: string) {
  const wallet = createWalletClient({ account: DEPLOYER, chain: foundry, transport: http(rpc) });

  async function nonceOf({ address }: HDAccount): Promise<number> {
    return Number(await callJsonRpc(rpc, 'eth_getTransactionCount', [address, 'latest']));
  }

  async function send(transaction: Partial<TransactionSerializable>, account = DEPLOYER): Promise<void> {
    const fees = { gas: GAS, maxFeePerGas: FEE, maxPriorityFeePerGas: 1n, chainId: foundry.id };
    const nonce = await nonceOf(account);
    const signed = await wallet.signTransaction({ account, ...fees, ...transaction, nonce } as never);
    const hash = await callJsonRpc(rpc, 'eth_sendRawTransaction', [signed]);
    for (let poll = 0; poll < RECEIPT_POLLS_MAX; poll++) {
      // go-ethereum refuses this request while it indexes its first blocks.
      const receipt = await callJsonRpc(rpc, 'eth_getTransactionReceipt', [hash]).catch(() => null);
      if (receipt !== null && (receipt as { status: string }).status === '0x1') return;
      if (receipt !== null) throw new Error(`a transaction failed: ${hash}`);
      await delay(RECEIPT_POLL_MS);
    }
    throw new Error(`a transaction was not mined: ${hash}`);
  }

  return {
    send,
    async deploy({ name, bytecode, isMaker }: Token, holders: readonly string[]): Promise<string> {
      const parameters = encodeAbiParameters([{ type: 'address[]' }], [holders as Hex[]]);
      const nonce = BigInt(await nonceOf(DEPLOYER));
      const address = getContractAddress({ from: DEPLOYER.address, nonce });
      await send({ data: concat([bytecode as Hex, parameters]) }).catch((cause: unknown) => {
        throw new Error(`${name} could not be deployed`, { cause });
      });
      if (!isMaker) return address;
      // deployed()
      const word = String(
        await callJsonRpc(rpc, 'eth_call', [{ to: address, data: '0xf905c15a' }, 'latest']),
      );
      return `0x${word.slice(-40)}`;
    },
    async delegate(account: HDAccount, to: string): Promise<void> {
      const authorization = await account.signAuthorization?.({
        address: to as Hex,
        chainId: foundry.id,
        nonce: 0,
      });
      if (authorization === undefined) throw new Error('this account cannot sign an authorization');
      // Never to the account itself: its new code would be called.
      await send({ to: STRANGER, authorizationList: [authorization] });
    },
  };
}
