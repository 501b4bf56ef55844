import { setTimeout as delay } from 'node:timers/promises';
import {
  concat,
  createWalletClient,
  encodeAbiParameters,
  getContractAddress,
  type Hex,
  http,
  type TransactionSerializable,
} from 'viem';
import { type HDAccount, mnemonicToAccount } from 'viem/accounts';
import { foundry } from 'viem/chains';
import { callJsonRpc } from '../../deploy/local/json-rpc.ts';
import type { Token } from './compile-tokens.ts';
import type { Client } from './start-clients.ts';

const PHRASE = 'test test test test test test test test test test test junk';
const accountOf = (addressIndex: number): HDAccount => mnemonicToAccount(PHRASE, { addressIndex });
/** Deploys, holds, and delegates; all but the first own no native coin on go-ethereum, which nothing here needs. */
const [DEPLOYER, HOLDER, DELEGATOR, TOKEN_DELEGATOR, PRECOMPILE_DELEGATOR] = [9, 1, 2, 3, 4].map(
  accountOf,
) as [HDAccount, HDAccount, HDAccount, HDAccount, HDAccount];

/** Owns nothing anywhere. */
const STRANGER: Hex = `0x${'51'.repeat(20)}`;
/** One transaction may use no more since Osaka. */
const GAS = 16_000_000n;
const FEE = 10n ** 10n;
const RECEIPT_POLLS_MAX = 2_000;
const RECEIPT_POLL_MS = 10;
/** The EVM's own contracts, which have no code and yet answer; two of them use up all gas or fail on most input. */
const PRECOMPILES = [0x01, 0x02, 0x03, 0x04, 0x05, 0x09, 0x0a, 0x100];

/** A contract that rules are made for. */
export type Target = { readonly name: string; readonly address: string };

export type Deployment = {
  readonly targets: readonly Target[];
  readonly accounts: readonly { readonly name: string; readonly address: string }[];
  readonly tokenCount: number;
};

/**
 * Deploys every token with the same three holders: an account with a key, a Safe, and an account that delegated to
 * code (EIP-7702) where the client knows these. The addresses are the same on every client.
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
  const receiver = await chain.deploy(tokenNamed('ReceiveHandler'), []);
  const safe = await chain.deploy(tokenNamed('SafeAccount'), [HOLDER.address]);
  const holders = [HOLDER.address, safe, DELEGATOR.address];
  if (hasEip7702) await chain.delegate(DELEGATOR, receiver);
  const isAccount = ({ name }: Token) => ['ReceiveHandler', 'SafeAccount'].includes(name);
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
    accounts: [
      { name: 'key', address: HOLDER.address },
      { name: 'safe', address: safe },
      { name: 'delegator', address: DELEGATOR.address },
      { name: 'stranger', address: STRANGER },
    ],
  };
}

const precompile = (number: number): Hex => `0x${number.toString(16).padStart(40, '0')}`;

/** Sends what the deployer signs, one transaction after the other. */
function startSigning(rpc: string) {
  const wallet = createWalletClient({ account: DEPLOYER, chain: foundry, transport: http(rpc) });
  let nonce = 0;

  async function send(transaction: Partial<TransactionSerializable>): Promise<void> {
    const fees = { gas: GAS, maxFeePerGas: FEE, maxPriorityFeePerGas: 1n, chainId: foundry.id };
    const signed = await wallet.signTransaction({ ...fees, ...transaction, nonce } as never);
    nonce += 1;
    const hash = await callJsonRpc(rpc, 'eth_sendRawTransaction', [signed]);
    for (let poll = 0; poll < RECEIPT_POLLS_MAX; poll++) {
      // go-ethereum refuses the question while it indexes its first blocks.
      const receipt = await callJsonRpc(rpc, 'eth_getTransactionReceipt', [hash]).catch(() => null);
      if (receipt !== null && (receipt as { status: string }).status === '0x1') return;
      if (receipt !== null) throw new Error(`a transaction of the deployer failed: ${hash}`);
      await delay(RECEIPT_POLL_MS);
    }
    throw new Error(`a transaction of the deployer was not mined: ${hash}`);
  }

  return {
    async deploy({ name, bytecode, isMaker }: Token, holders: readonly string[]): Promise<string> {
      const parameters = encodeAbiParameters([{ type: 'address[]' }], [holders as Hex[]]);
      const address = getContractAddress({ from: DEPLOYER.address, nonce: BigInt(nonce) });
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
      // Not to the account itself: its new code would be called.
      await send({ to: STRANGER, authorizationList: [authorization] });
    },
  };
}
