import { parseEndpointStates, readEndpointStates } from './endpoint-states.ts';

const METRICS = `# HELP rolecall_rpc_endpoint_state 1 for what an endpoint is.
rolecall_rpc_endpoint_state{endpoint="1",state="wrong-chain",reason="wrong-chain",method="unknown",chain_id="5",service="evaluator"} 1
rolecall_rpc_endpoint_state{endpoint="0",state="up",reason="none",method="reader",chain_id="5",service="evaluator"} 1
rolecall_rpc_method{endpoint="0",method="reader",chain_id="5",service="evaluator"} 1
`;

test('reads the states of endpoints from the metrics, in the order of the chain file', () => {
  expect(parseEndpointStates(7, METRICS)).toEqual([
    { pid: 7, chainId: 5, endpoint: 0, state: 'up', reason: null, method: 'reader' },
    { pid: 7, chainId: 5, endpoint: 1, state: 'wrong-chain', reason: 'wrong-chain', method: null },
  ]);
});

test('leaves out a process that does not answer, and asks no other service', async () => {
  const processes = [
    { service: 'evaluator', pid: 1, ops: 'http://127.0.0.1:1' },
    { service: 'redis', pid: 2, ops: null },
  ];
  expect(await readEndpointStates(processes)).toEqual([]);
});
