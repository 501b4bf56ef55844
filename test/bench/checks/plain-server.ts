import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Contract, JsonRpcProvider, parseUnits } from 'ethers';
import express from 'express';

// The alternative to Rolecall: an Express 5 server that reads each rule's balance with default
// ethers and answers. The same request and the same result; no queue, no store, no proof of one
// block.

type PlainRule = {
  readonly type: string;
  readonly contractAddress: string;
  readonly roleId: string;
  readonly minToken?: string;
  readonly tokenId?: string;
};

const [rpc = '', chainId = '', apiKey = ''] = process.argv.slice(2);
const provider = new JsonRpcProvider(rpc, Number(chainId), { staticNetwork: true });
const contracts = new Map<string, { contract: Contract; decimals?: Promise<bigint> }>();
const ABI = {
  ERC20: ['function balanceOf(address) view returns (uint256)', 'function decimals() view returns (uint8)'],
  ERC721: ['function balanceOf(address) view returns (uint256)'],
  ERC1155: ['function balanceOf(address, uint256) view returns (uint256)'],
} as const;

function contractOf({ type, contractAddress }: PlainRule) {
  const key = `${type} ${contractAddress}`;
  const known = contracts.get(key);
  if (known) return known;
  const made = { contract: new Contract(contractAddress, ABI[type as keyof typeof ABI], provider) };
  contracts.set(key, made);
  return made;
}

async function isHeld(account: string, rule: PlainRule): Promise<boolean> {
  const { minToken = '1', tokenId } = rule;
  if (rule.type === 'NATIVE') return (await provider.getBalance(account)) >= parseUnits(minToken, 18);
  const known: { contract: Contract; decimals?: Promise<bigint> } = contractOf(rule);
  const balanceOf = known.contract.getFunction('balanceOf');
  if (rule.type !== 'ERC20')
    return (await balanceOf(account, ...(tokenId === undefined ? [] : [tokenId]))) >= BigInt(minToken);
  known.decimals ??= known.contract.getFunction('decimals')() as Promise<bigint>;
  const [balance, decimals] = (await Promise.all([balanceOf(account), known.decimals])) as [bigint, bigint];
  return balance >= parseUnits(minToken, decimals);
}

const app = express();
app.use(express.json({ limit: '256kb' }));
app.post('/access-control/check-roles', async (request, response) => {
  if (request.get('x-api-key') !== apiKey) return void response.status(401).json({ code: 'api-key-invalid' });
  const { account, rules } = request.body as { account: string; rules: PlainRule[] };
  const held = await Promise.allSettled(rules.map((rule) => isHeld(account, rule)));
  response.json({
    requestId: randomUUID(),
    status: 'completed',
    roles: held.flatMap((each, index) =>
      each.status === 'fulfilled' ? [{ id: rules[index]?.roleId, granted: each.value }] : [],
    ),
    errors: held.flatMap((each, ruleIndex) =>
      each.status === 'rejected' ? [{ ruleIndex, code: 'rpc-unavailable' }] : [],
    ),
    evaluatedAt: new Date().toISOString(),
  });
});
const server = app.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
// The server exits with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
