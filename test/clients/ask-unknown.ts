import { connectTestChains } from '../support/infrastructure/connect-test-chains.ts';

/** What a client says about a block, tag or range that it does not have: its words, `null`, or that
 * it answered. */
export type UnknownAnswer = { readonly question: string; readonly answer: string };

/** What a client that names such a block gets from the evaluator, and another client afterwards. */
export type UnknownOutcome = { readonly question: string; readonly outcome: string };

/** The question of the check that follows the others. */
export const ORDINARY_CHECK = "another client's check";

const UNKNOWN_HASH = `0x${'12'.repeat(32)}`;
const NOBODY = `0x${'99'.repeat(20)}`;
const BLOCKS_PAST_HEAD = 1_000;
/** More failures than open a circuit breaker. */
const HOSTILE_CHECKS = 12;

const hex = (number: number): string => `0x${number.toString(16)}`;

/** Asks a client for blocks that it does not have, one call each. */
export async function askUnknown(rpc: string): Promise<UnknownAnswer[]> {
  const head = Number((await post(rpc, 'eth_blockNumber', [])).result);
  const past = hex(head + BLOCKS_PAST_HEAD);
  const call = { to: NOBODY, data: '0x' };
  const questions: readonly (readonly [string, string, readonly unknown[]])[] = [
    ['call at an unknown hash', 'eth_call', [call, { blockHash: UNKNOWN_HASH }]],
    ['call past the head', 'eth_call', [call, past]],
    ['block past the head', 'eth_getBlockByNumber', [past, false]],
    ['logs past the head', 'eth_getLogs', [{ fromBlock: hex(head), toBlock: past, address: NOBODY }]],
    ['logs at an unknown hash', 'eth_getLogs', [{ blockHash: UNKNOWN_HASH, address: NOBODY }]],
    ['tag finalized', 'eth_getBlockByNumber', ['finalized', false]],
    ['unknown tag', 'eth_getBlockByNumber', ['unheard-of', false]],
  ];
  const answers: UnknownAnswer[] = [];
  for (const [question, method, params] of questions)
    answers.push({ question, answer: describe(await post(rpc, method, params)) });
  return answers;
}

/** Has the evaluator judge checks that name such blocks, and then an ordinary check, on the same
 * endpoint. */
export async function judgeUnknown(rpc: string, chainId: number): Promise<UnknownOutcome[]> {
  await using chains = connectTestChains([{ chainId, urls: [rpc] }]);
  const head = Number((await post(rpc, 'eth_blockNumber', [])).result);
  const judge = async (consistency: object): Promise<string> => {
    const { roles, errors } = await chains.judge({
      account: NOBODY,
      rules: [{ type: 'NATIVE', chainId, roleId: 'native', minToken: '1' }],
      consistency: { blockTag: 'latest', minBlock: {}, ...consistency },
    });
    return roles.length > 0 ? 'decided' : (errors[0]?.code ?? 'no answer');
  };
  const repeat = async (consistencyOf: (count: number) => object): Promise<string> => {
    const outcomes = new Set<string>();
    for (let count = 0; count < HOSTILE_CHECKS; count++) outcomes.add(await judge(consistencyOf(count)));
    return [...outcomes].join(', ');
  };
  const pastHead = await repeat((count) => ({ atBlock: { [chainId]: head + BLOCKS_PAST_HEAD + count } }));
  const safe = await repeat(() => ({ blockTag: 'safe' }));
  const finalized = await repeat(() => ({ blockTag: 'finalized' }));
  return [
    { question: 'check past the head', outcome: pastHead },
    { question: 'check at safe', outcome: safe },
    { question: 'check at finalized', outcome: finalized },
    { question: ORDINARY_CHECK, outcome: await judge({}) },
  ];
}

type Posted = {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
};

async function post(rpc: string, method: string, params: readonly unknown[]): Promise<Posted> {
  const response = await fetch(rpc, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as Posted;
}

const WORDS_LENGTH_MAX = 80;

function describe({ result, error }: Posted): string {
  if (error !== undefined) return `${error.code} ${error.message.split('\n')[0]?.slice(0, WORDS_LENGTH_MAX)}`;
  if (result === null) return 'null';
  return Array.isArray(result) && result.length === 0 ? 'no logs' : 'answered';
}
