import { createHmac } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { createPublicClient, http, parseAbi, parseUnits } from 'viem';
import type { SentRule } from '../../support/builders/demo-rules.ts';

// The worker behind `queue-server.ts`: it reads the rules of a check with one multicall of viem, and
// posts results to webhooks with retries, from a queue of their own.

type Check = {
  readonly account: `0x${string}`;
  readonly rules: readonly SentRule[];
  readonly callbackUrl?: string;
};
type Post = { readonly url: string; readonly id: string; readonly body: string };

const [redisPort = '', rpc = '', multicall = ''] = process.argv.slice(2);
const CONCURRENCY = 64;
const SECRET = 'a secret of the receiver';
const connection = { host: '127.0.0.1', port: Number(redisPort), maxRetriesPerRequest: null };
const client = createPublicClient({ transport: http(rpc) });
const ABI = parseAbi(['function balanceOf(address) view returns (uint256)']);
const ABI_OF_ID = parseAbi(['function balanceOf(address, uint256) view returns (uint256)']);
const DECIMALS = parseAbi(['function decimals() view returns (uint8)']);
const decimals = new Map<string, Promise<number>>();

const addressOf = ({ contractAddress }: SentRule) => contractAddress as `0x${string}`;

function decimalsOf(rule: SentRule): Promise<number> | number {
  if (rule.type !== 'ERC20') return 0;
  const address = addressOf(rule);
  const known =
    decimals.get(address) ?? client.readContract({ address, abi: DECIMALS, functionName: 'decimals' });
  decimals.set(address, known);
  return known;
}

async function judge({ account, rules }: Check, requestId: string): Promise<object> {
  const balances = await client.multicall({
    multicallAddress: multicall as `0x${string}`,
    contracts: rules.map((rule) =>
      rule.type === 'ERC1155'
        ? {
            ...{ address: addressOf(rule), abi: ABI_OF_ID, functionName: 'balanceOf' as const },
            args: [account, BigInt(rule.tokenId ?? '0')] as const,
          }
        : {
            ...{ address: addressOf(rule), abi: ABI, functionName: 'balanceOf' as const },
            args: [account] as const,
          },
    ),
  });
  const roles: object[] = [];
  const errors: object[] = [];
  for (const [ruleIndex, rule] of rules.entries()) {
    const balance = balances[ruleIndex];
    if (balance?.status !== 'success') errors.push({ ruleIndex, code: 'rpc-unavailable' });
    else {
      const required = parseUnits(rule.minToken ?? '1', await decimalsOf(rule));
      roles.push({ id: rule.roleId, granted: balance.result >= required });
    }
  }
  return { requestId, status: 'completed', roles, errors, evaluatedAt: new Date().toISOString() };
}

const posts = new Queue<Post>('webhooks', {
  connection,
  defaultJobOptions: {
    attempts: 8,
    backoff: { type: 'exponential', delay: 5_000 },
    removeOnComplete: { age: 3_600 },
  },
});
new Worker<Check>(
  'checks',
  async ({ id = '', data }) => {
    const result = await judge(data, id);
    const { callbackUrl: url } = data;
    if (url) await posts.add('post', { url, id: `msg_${id}`, body: JSON.stringify(result) }, { jobId: id });
    return result;
  },
  { connection, concurrency: CONCURRENCY },
);
new Worker<Post>(
  'webhooks',
  async ({ data: { url, id, body } }) => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', SECRET).update(`${id}.${timestamp}.${body}`).digest('base64');
    const response = await fetch(url, {
      ...{ method: 'POST', body },
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
    });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
  },
  { connection, concurrency: CONCURRENCY },
);
process.send?.(0);
// The worker exits with the benchmark, however that ends.
process.on('disconnect', () => process.exit());
