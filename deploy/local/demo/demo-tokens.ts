import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { artifactFile } from '../contracts/artifact-file.ts';
import { callJsonRpc } from '../infrastructure/json-rpc.ts';
import { sendTransaction } from './send-transaction.ts';

/** The first accounts of the phrase that every local chain uses; each has 10 000 native coins. */
const DEPLOYER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const HOLDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const STRANGER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

/** The addresses follow from the deployer and its nonce, so they are the same on every new
 * chain. */
const TOKENS = [
  { key: 'erc20', contract: 'DemoErc20', address: '0x5FbDB2315678afecb367f032d93F642f64180aa3' },
  { key: 'erc721', contract: 'DemoErc721', address: '0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512' },
  { key: 'erc1155', contract: 'DemoErc1155', address: '0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0' },
] as const;

/** More than the 64 blocks that lie between the head and the finalized block. */
const BLOCKS_MINED = 70;

const Artifact = z.object({ bytecode: z.string() });

export type DemoTokens = {
  readonly erc20: string;
  readonly erc20Decimals: number;
  readonly erc721: string;
  readonly erc1155: string;
  /** Owns 1500.5 of the ERC20, ERC721 ids 1 to 3, ERC1155 id 7 × 10 and id 8 × 5, and native
   * coin. */
  readonly holder: string;
  /** Owns nothing but native coin. */
  readonly stranger: string;
};

export const demoTokens: DemoTokens = {
  erc20: TOKENS[0].address,
  erc20Decimals: 6,
  erc721: TOKENS[1].address,
  erc1155: TOKENS[2].address,
  holder: HOLDER,
  stranger: STRANGER,
};

/**
 * Deploys the demo tokens to an empty chain and mines enough blocks for `safe` and `finalized` to
 * mean something. The constructors give the holder its tokens.
 *
 * @throws Error if the chain was not empty: the tokens would be elsewhere.
 */
export async function deployDemoTokens(rpc: string): Promise<void> {
  for (const { contract, address } of TOKENS) {
    const { bytecode } = Artifact.parse(JSON.parse(readFileSync(artifactFile(contract), 'utf8')));
    const holder = HOLDER.slice(2).toLowerCase().padStart(64, '0');
    const transaction = { from: DEPLOYER, data: `${bytecode}${holder}` };
    const { contractAddress } = await sendTransaction(rpc, transaction);
    if (contractAddress?.toLowerCase() !== address.toLowerCase())
      throw new Error(`${contract} is at ${contractAddress} and not at ${address}: the chain was not empty`);
  }
  await callJsonRpc(rpc, 'anvil_mine', [`0x${BLOCKS_MINED.toString(16)}`]);
}
