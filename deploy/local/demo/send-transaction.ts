import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { callJsonRpc } from '../infrastructure/json-rpc.ts';

const GAS = '0x4c4b40';
const RECEIPT_POLLS_MAX = 3_000;
const RECEIPT_POLL_MS = 10;

const Receipt = z
  .object({
    status: z.literal('0x1'),
    blockNumber: z.string().transform(Number),
    contractAddress: z.string().nullable(),
  })
  .nullable();

type Transaction = { readonly from: string; readonly to?: string; readonly data: string };
type Receipt = NonNullable<z.infer<typeof Receipt>>;

/**
 * Sends a transaction of an account that the node signs for, and waits until it is in a block: a
 * node returns the hash before that, and until then it answers at the previous block.
 *
 * @throws Error if the transaction reverted, or is in no block after 30 s
 *
 * @example
 * const { blockNumber } = await sendTransaction(chain.rpc, { from: chain.holder, to: chain.erc20, data });
 */
export async function sendTransaction(rpc: string, transaction: Transaction): Promise<Receipt> {
  const hash = await callJsonRpc(rpc, 'eth_sendTransaction', [{ gas: GAS, ...transaction }]);
  for (let poll = 0; poll < RECEIPT_POLLS_MAX; poll++) {
    const receipt = Receipt.parse(await callJsonRpc(rpc, 'eth_getTransactionReceipt', [hash]));
    if (receipt) return receipt;
    await delay(RECEIPT_POLL_MS);
  }
  throw new Error(`a transaction was not mined: ${hash}`);
}
