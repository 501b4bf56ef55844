import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { StartOptions } from '../settings/options.ts';
import type { ReadyLine } from '../system/ready-line.ts';
import { receiveWebhook } from './receive-webhook.ts';

const REQUEST_MS_MAX = 30_000;
const ANSWER_MS_MAX = 30_000;
const POLL_WAIT_S = 10;

const Result = z.object({
  status: z.literal('completed'),
  roles: z.array(z.object({ id: z.string(), granted: z.boolean() })),
  errors: z.array(z.unknown()).length(0),
});

const Accepted = z.object({ requestId: z.string() });

export type DemoSystem = Pick<ReadyLine, 'gateways' | 'app'> & {
  readonly chain: NonNullable<ReadyLine['chain']>;
};

/** The check of the demo: tokens that the holder has, and a token that it lacks. */
export const demoCheck = ({ chain }: DemoSystem) => ({
  account: chain.holder,
  rules: [
    rule(chain.chainId, 'ERC20', 'whale', { contractAddress: chain.erc20, minToken: '1500.5' }),
    rule(chain.chainId, 'ERC721', 'member', { contractAddress: chain.erc721 }),
    rule(chain.chainId, 'ERC1155', 'player', {
      contractAddress: chain.erc1155,
      tokenId: '7-8',
      minToken: '15',
    }),
    rule(chain.chainId, 'ERC20', 'richer', { contractAddress: chain.erc20, minToken: '1500.500001' }),
  ],
});

const rule = (chainId: number, type: string, roleId: string, more: Record<string, string>) => ({
  type,
  chainId,
  roleId,
  ...more,
});

const EXPECTED = { whale: true, member: true, player: true, richer: false };

/**
 * Runs the demo unless it is to be skipped.
 *
 * @returns whether `--once` exits 0. It exits 1 if the demo chain is missing, with `--no-demo` too.
 */
export async function showDemo(
  ready: Pick<ReadyLine, 'gateways' | 'app' | 'chain'>,
  { demo, once }: Pick<StartOptions, 'demo' | 'once'>,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const { chain } = ready;
  if (chain === null && (demo || once)) {
    say('no demo: the chain file does not name the demo chain (31337)');
    return false;
  }
  return chain === null || !demo || runDemo({ ...ready, chain }, say, signal);
}

/**
 * Makes one check in each mode and prints the answers.
 *
 * @returns whether all three answered as expected; it never throws for an answer that is wrong or
 *   missing.
 */
async function runDemo(
  system: DemoSystem,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let allWell = true;
  for (const [mode, check] of Object.entries({
    sync: checkNow,
    poll: checkAndPoll,
    webhook: checkByWebhook,
  })) {
    try {
      const began = performance.now();
      const answer = await check(system, signal);
      const roles = judge(answer);
      say(`demo, ${mode}: ${roles} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      signal.throwIfAborted();
      allWell = false;
      say(`demo, ${mode}: FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return allWell;
}

/** The roles in words, if they match the holder's tokens. */
function judge(answer: unknown): string {
  const parsed = Result.safeParse(answer);
  if (!parsed.success) throw new Error(`unexpected answer ${JSON.stringify(answer)}`);
  const granted = Object.fromEntries(parsed.data.roles.map((role) => [role.id, role.granted]));
  if (JSON.stringify(granted) !== JSON.stringify(EXPECTED))
    throw new Error(`unexpected roles ${JSON.stringify(granted)}`);
  return Object.entries(granted)
    .map(([id, isGranted]) => `${id} ${isGranted ? 'granted' : 'denied'}`)
    .join(', ');
}

const checkNow = (system: DemoSystem, signal: AbortSignal): Promise<unknown> =>
  post(system, demoCheck(system), 200, signal);

async function checkAndPoll(system: DemoSystem, signal: AbortSignal): Promise<unknown> {
  const { requestId } = Accepted.parse(
    await post(system, { ...demoCheck(system), async: true }, 202, signal),
  );
  const giveUpAt = performance.now() + ANSWER_MS_MAX;
  while (performance.now() < giveUpAt) {
    const response = await fetch(`${system.gateways[0]}/access-control/check-roles/responses/${requestId}`, {
      headers: { 'x-api-key': system.app.apiKey, prefer: `wait=${POLL_WAIT_S}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
    });
    if (response.status !== 202) return response.json();
    await response.body?.cancel();
    await delay(Number(response.headers.get('retry-after') ?? 1) * 1000, undefined, { signal });
  }
  throw new Error('no result in time');
}

async function checkByWebhook(system: DemoSystem, signal: AbortSignal): Promise<unknown> {
  await using receiver = await receiveWebhook(system.app.webhookSecret);
  await post(system, { ...demoCheck(system), callbackUrl: receiver.url }, 202, signal);
  const late = new AbortController();
  try {
    return await Promise.race([
      receiver.received,
      delay(ANSWER_MS_MAX, undefined, { signal: AbortSignal.any([signal, late.signal]) }).then(() => {
        throw new Error('no delivery in time');
      }),
    ]);
  } finally {
    late.abort();
  }
}

async function post(
  system: DemoSystem,
  body: unknown,
  status: number,
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetch(`${system.gateways[0]}/access-control/check-roles`, {
    method: 'POST',
    headers: { 'x-api-key': system.app.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
  });
  const answer: unknown = await response.json();
  if (response.status !== status) throw new Error(`${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
