import { parentPort, workerData } from 'node:worker_threads';
import { type Fault, type FaultKind, startRpcFaultProxy } from '../support/fakes/rpc-fault-proxy.ts';

// A fault proxy in its own thread, so that its work takes no event-loop ticks of the measured process.
const proxy = await startRpcFaultProxy(workerData as Parameters<typeof startRpcFaultProxy>[0]);
parentPort?.on('message', (fault: Fault | FaultKind) => {
  void proxy.setFault(fault).then(() => parentPort?.postMessage('set'));
});
parentPort?.postMessage(proxy.url);
