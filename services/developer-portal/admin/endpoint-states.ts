import type { LocalSystem } from './local-system.ts';

/** The state of an RPC endpoint in one evaluator. */
type EndpointState = {
  readonly pid: number;
  readonly chainId: number;
  /** Index in the chain file, from 0. */
  readonly endpoint: number;
  readonly state: string;
  /** How its last call failed; `null` if it is up. */
  readonly reason: string | null;
  /** How balances are read: `reader`, `multicall3` or `plain`; `null` until it is known. */
  readonly method: string | null;
};

const ANSWER_MS_MAX = 2_000;
const SERIES = /^rolecall_rpc_endpoint_state\{([^}]*)\} 1$/gm;

/** Reads the endpoint states of every evaluator of a local system; evaluators that do not answer are omitted. */
export async function readEndpointStates(processes: LocalSystem['processes']): Promise<EndpointState[]> {
  const asked = processes.flatMap(({ service, pid, ops }) =>
    service === 'evaluator' && ops !== null ? [askProcess(pid, ops)] : [],
  );
  return (await Promise.all(asked)).flat();
}

async function askProcess(pid: number, ops: string): Promise<EndpointState[]> {
  try {
    const response = await fetch(`${ops}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return parseEndpointStates(pid, await response.text());
  } catch {
    return [];
  }
}

/**
 * The states of endpoints in the text of an evaluator's metrics.
 *
 * @example
 * parseEndpointStates(7, 'rolecall_rpc_endpoint_state{chain_id="1",endpoint="0",state="up",…} 1')[0]?.state; // 'up'
 */
export function parseEndpointStates(pid: number, text: string): EndpointState[] {
  const states = [...text.matchAll(SERIES)].map(([, labels = '']) => {
    const label = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const known = (name: string, none: string) => (label(name) === none ? null : label(name));
    return {
      pid,
      chainId: Number(label('chain_id')),
      endpoint: Number(label('endpoint')),
      state: label('state'),
      reason: known('reason', 'none'),
      method: known('method', 'unknown'),
    };
  });
  return states.sort((a, b) => a.chainId - b.chainId || a.endpoint - b.endpoint);
}
