import { failed, type Reading } from '../../domain/read.ts';
import { type Block, blockParameter, verifyBlock } from '../blocks/block.ts';
import type { Callable, Capabilities } from '../endpoints/endpoint.ts';
import type { BlockSource } from '../reader/reader-codec.ts';
import { RpcFailure, toRpcFailure } from '../rpc/rpc-failure.ts';
import { ASK_WALLET_CODE } from './ask-wallet-code.ts';
import type { WalletCall } from './unwrap-signature.ts';

/** Gas of the whole call. */
const GAS = '0x2dc6c0';
const WORD = 64;
const ANSWER = /^0x[0-9a-fA-F]{192}$/;

/** The question of one call to a wallet; hex without `0x`, lower case. */
export type WalletQuestion = {
  readonly wallet: string;
  readonly hash: string;
  readonly signature: string;
  /** Made before the question. */
  readonly call?: WalletCall;
};

/** The wallet's answer; used-up gas is a failed reading, `gas-exhausted`. */
export const WALLET_SAYS = {
  valid: { ok: true, value: 0n },
  nothing: { ok: true, value: 1n },
  otherwise: { ok: true, value: 2n },
} as const satisfies Record<string, Reading>;
const READINGS: readonly Reading[] = [
  WALLET_SAYS.valid,
  WALLET_SAYS.nothing,
  WALLET_SAYS.otherwise,
  failed('gas-exhausted'),
];

export type WalletAnswer = { readonly reading: Reading; readonly isProved: boolean };

/**
 * Asks a wallet by one `eth_call`, which carries nothing else: the code that it runs is a
 * stranger's.
 *
 * @throws RpcFailure as `readByReader` does
 */
export async function askWallet(
  endpoint: Pick<Callable, 'use'>,
  block: Block,
  question: WalletQuestion,
  { method, pin, source }: Capabilities,
  signal: AbortSignal,
): Promise<WalletAnswer> {
  const data = encodeQuestion(question, source);
  const params = `[{"data":"${data}","gas":"${GAS}"},${blockParameter(block, pin)}]`;
  // Such an endpoint, or its chain, can prove no block.
  const isProved = method !== 'plain';
  return endpoint.use(signal, async (rpc) => {
    const answer = await rpc.call({ method: 'eth_call', params }, signal).catch((error: unknown) => {
      const { kind } = toRpcFailure(error);
      // The wallet or its factory left no gas for the answer.
      if (kind === 'gas-exhausted' || kind === 'reverted') return undefined;
      throw error;
    });
    if (answer === undefined) return { reading: failed('gas-exhausted'), isProved: false };
    if (typeof answer !== 'string' || !ANSWER.test(answer)) throw new RpcFailure('malformed');
    const wordAt = (index: number) => answer.slice(2 + index * WORD, 2 + (index + 1) * WORD).toLowerCase();
    if (isProved) verifyBlock({ blockNumber: BigInt(`0x${wordAt(0)}`), parentHash: `0x${wordAt(1)}` }, block);
    const reading = READINGS[Number.parseInt(wordAt(2), 16)];
    if (reading === undefined) throw new RpcFailure('malformed');
    return { reading, isProved };
  });
}

/** The code with its arguments behind it; see `ask-wallet.yul`. */
function encodeQuestion({ wallet, hash, signature, call }: WalletQuestion, source: BlockSource): string {
  const { target, data } = call ?? { target: '0'.repeat(40), data: '' };
  const length = (data.length / 2).toString(16).padStart(8, '0');
  const from = source === 'evm' ? '00' : '01';
  return `${ASK_WALLET_CODE}${from}${wallet}${hash}${call ? '01' : '00'}${target}${length}${data}${signature}`;
}
