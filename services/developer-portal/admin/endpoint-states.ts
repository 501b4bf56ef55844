import type { LocalSystem } from './local-system.ts';

const ANSWER_MS_MAX = 2_000;
const SERIES = /^rolecall_rpc_endpoint_state\{([^}]*)\} 1$/gm;

/** Reads the endpoint states of every evaluator of a local system; evaluators that do not answer
 * are omitted. */
export async function readEndpointStates(
  processes: LocalSystem['processes'],
): Promise<ReturnType<typeof parseEndpointStates>> {
  const asked = processes.flatMap(({ service, pid, ops }) =>
    service === 'evaluator' && ops !== null ? [askProcess(pid, ops)] : [],
  );
  return (await Promise.all(asked)).flat();
}

async function askProcess(pid: number, ops: string): Promise<ReturnType<typeof parseEndpointStates>> {
  try {
    const response = await fetch(`${ops}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return parseEndpointStates(pid, await response.text());
  } catch {
    return [];
  }
}

const indexOrName = (text = ''): number | string => (/^[0-9]+$/.test(text) ? Number(text) : text);

/**
 * The states of endpoints in the text of an evaluator's metrics.
 *
 * @example
 * parseEndpointStates(7, 'rolecall_rpc_endpoint_state{chain_id="1",endpoint="0",state="up",…} 1')[0]?.state; // 'up'
 */
export function parseEndpointStates(pid: number, text: string) {
  const states = [...text.matchAll(SERIES)].map(([, labels = '']) => {
    const label = new Map([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
    const known = (name: string, none: string) => (label.get(name) === none ? null : label.get(name));
    return {
      pid,
      chainId: Number(label.get('chain_id')),
      /** Its index in the chain file, from 0, or its name there. */
      endpoint: indexOrName(label.get('endpoint')),
      state: label.get('state'),
      /** How its last call failed; `null` if it is up. */
      reason: known('reason', 'none'),
      /** How balances are read: `reader`, `multicall3` or `plain`; `null` until it is known. */
      method: known('method', 'unknown'),
    };
  });
  return states.sort((a, b) => a.chainId - b.chainId || Number(a.endpoint) - Number(b.endpoint));
}
