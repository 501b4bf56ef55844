import { Interface } from 'ethers';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { sendTransaction } from '../../../deploy/local/demo/send-transaction.ts';

const tokens = new Interface([
  'function transfer(address to, uint256 amount)',
  'function transferFrom(address from, address to, uint256 id)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
  'function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
]);

/**
 * Transfers of the demo tokens, each in a block of its own. They return once they are mined.
 *
 * @param from the owner of the tokens: the demo's holder, or a wallet that the chain impersonates
 */
export function makeDemoTransfers(rpcUrl: string, from: string = demoTokens.holder) {
  const { erc20, erc721, erc1155 } = demoTokens;
  const send = (to: string, name: string, args: readonly unknown[]) =>
    sendTransaction(rpcUrl, { from, to, data: tokens.encodeFunctionData(name, args) });
  return {
    erc20: (to: string) => send(erc20, 'transfer', [to, 1]),
    erc721: (to: string, id: number) => send(erc721, 'transferFrom', [from, to, id]),
    erc1155: (to: string) => send(erc1155, 'safeTransferFrom', [from, to, 7, 1, '0x']),
    erc1155Batch: (to: string) => send(erc1155, 'safeBatchTransferFrom', [from, to, [7, 8], [1, 1], '0x']),
  };
}
