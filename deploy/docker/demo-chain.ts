import { once } from 'node:events';
import { createServer } from 'node:http';
import { startChain } from '../local/infrastructure/chain.ts';

// The demo chain in a container: anvil for all containers of the network, ready once the tokens are
// deployed.

const CHAIN_PORT = 8545;
const OPS_PORT = Number(process.env['OPS_PORT'] ?? 9090);

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

await using chain = await startChain({ port: CHAIN_PORT, host: '0.0.0.0', signal: stop.signal });
const ops = createServer((_request, response) => response.end('ok\n')).listen(OPS_PORT);
const { chainId, erc20, erc721, erc1155, holder, stranger } = chain;
console.log(JSON.stringify({ msg: 'ready', chainId, erc20, erc721, erc1155, holder, stranger }));
await Promise.race([stop.signal.aborted || once(stop.signal, 'abort'), chain.exited]);
ops.close();
// A chain that ends unasked is a failure; the restart policy starts it again.
if (!stop.signal.aborted) process.exitCode = 1;
