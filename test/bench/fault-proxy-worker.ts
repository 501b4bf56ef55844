import { parentPort, workerData } from 'node:worker_threads';
import { type Fault, type FaultKind, startRpcFaultProxy } from '../support/rpc-fault-proxy.ts';

// A fault proxy in a thread of its own, so that what it does costs the measured process no turn of its event loop.
const proxy = await startRpcFaultProxy(workerData as Parameters<typeof startRpcFaultProxy>[0]);
parentPort?.on('message', (fault: Fault | FaultKind) => {
  void proxy.setFault(fault).then(() => parentPort?.postMessage('set'));
});
parentPort?.postMessage(proxy.url);
