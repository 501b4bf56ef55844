import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { commonConfig, commonEnvironment, loadEnvironment } from '#shared/config.ts';
import { watchUid } from '#shared/contracts/watches/watch.ts';
import { connectRedis } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { startFollowingTransfers } from '../../../services/evaluator/lanes/follow-transfers.ts';
import { makeFollowingMetrics } from '../../../services/evaluator/metrics.ts';
import { aWatch } from '../../support/builders/a-watch.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { testContext } from '../../support/infrastructure/connections.ts';
import { startDedicatedRedis } from '../../support/infrastructure/dedicated-infrastructure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { cpuMsSince } from '../system/cpu-seconds.ts';
import type { Row } from '../table.ts';

const CHAIN_ID = 31_337;
const BLOCKS = 100;
const TRANSFERS_PER_SECOND = 5;
const SETTLE_MS = 5_000;
const IDLE_SECONDS = 15;

/** Measures the cost of following while no event names a member: RPC calls and CPU time per block
 * of one second. */
export async function benchFollowing(): Promise<{ rows: Row[]; notes: string[] }> {
  await using stack = new AsyncDisposableStack();
  const [port = 0] = await findFreePorts(1);
  const chain = stack.use(await startChain({ port }));
  const ownRedis = stack.use(await startDedicatedRedis());
  const config = commonConfig(
    loadEnvironment(z.object(commonEnvironment), { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: ownRedis.url }),
  );
  const context = testContext();
  const { redis } = stack.use(await connectRedis({ ...config, ...config.redis }, context));
  await redis.set(GENERATION_KEY, 'bench');
  const followed = makeFollowedContracts(redis);
  const watch = aWatch();
  const contracts = [chain.erc20, chain.erc721, chain.erc1155].map((contract) => ({
    chainId: CHAIN_ID,
    contractAddress: contract.toLowerCase(),
    blockTag: 'latest' as const,
  }));
  const chains = stack.use(connectTestChains([{ urls: [chain.rpc] }], { attemptTimeoutMs: 10_000 }));
  let logCount = 0;
  const metrics = makeFollowingMetrics(context.metrics);
  stack.use(
    startFollowingTransfers({
      chains: chains.chains.followable,
      redis,
      publish: () => Promise.reject(new Error('an event named a member')),
      metrics: {
        ...metrics,
        observerOf: (chainId) => ({
          ...metrics.observerOf(chainId),
          onRead: (_, count) => {
            logCount += count;
          },
        }),
      },
      log: context.log,
      redisNowMs: Date.now,
    }),
  );
  await callJsonRpc(chain.rpc, 'evm_setAutomine', [false]);
  await callJsonRpc(chain.rpc, 'evm_setIntervalMining', [1]);
  const traffic = spawn(process.execPath, ['--eval', trafficOf(chain)], { stdio: 'ignore' });
  stack.defer(async () => {
    traffic.kill();
    await once(traffic, 'exit');
  });
  // Lets the first compilations of code and the probes of the endpoint pass.
  await delay(SETTLE_MS);
  const idleBefore = process.cpuUsage();
  await delay(IDLE_SECONDS * 1_000);
  const idleMs = cpuMsSince(idleBefore) / IDLE_SECONDS;
  await followed.follow(watch, contracts);
  await waitUntil('following', async () =>
    (await followed.states(watchUid(watch), contracts)).every(({ state }) => state === 'live'),
  );
  const headNumber = async () => Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));
  const [firstBlock, callsBefore, cpuBefore] = [await headNumber(), chains.calls.length, process.cpuUsage()];
  logCount = 0;
  // A poll of the harness itself costs CPU time that is counted here, so it polls once in five
  // seconds.
  const blockCount = await new Promise<number>((resolve, reject) => {
    const timer = setInterval(() => {
      headNumber().then((number) => {
        if (number - firstBlock < BLOCKS) return;
        clearInterval(timer);
        resolve(number - firstBlock);
      }, reject);
    }, 5_000);
  });
  const cpuMs = cpuMsSince(cpuBefore) / blockCount;
  return {
    rows: [
      {
        what: 'RPC calls per block without a relevant event',
        measured: (chains.calls.length - callsBefore) / blockCount,
        unit: 'calls',
        goal: { of: 'value', max: 2 },
      },
      {
        what: 'CPU per block without a relevant event',
        measured: cpuMs,
        unit: 'ms',
        against: { what: 'nothing is followed', measured: idleMs },
        goal: { of: 'difference', max: 5 },
      },
    ],
    notes: [
      `following: ${blockCount} blocks of 1 s, 3 contracts, ${TRANSFERS_PER_SECOND} transfers per block that name no member (${logCount} logs read)`,
    ],
  };
}

/** Starts a program that transfers between wallets that no watch has as members. */
const trafficOf = ({ rpc, erc20, holder }: { rpc: string; erc20: string; holder: string }): string => `
  const word = (hex) => hex.padStart(64, '0');
  let count = 0;
  setInterval(async () => {
    const calls = Array.from({ length: ${TRANSFERS_PER_SECOND} }, () => {
      count += 1;
      const data = '0xa9059cbb' + word('dead' + count.toString(16).padStart(8, '0')) + word('1');
      const params = [{ from: '${holder}', to: '${erc20}', data, gas: '0x186a0' }];
      return { jsonrpc: '2.0', id: count, method: 'eth_sendTransaction', params };
    });
    const body = JSON.stringify(calls);
    await fetch('${rpc}', { method: 'POST', headers: { 'content-type': 'application/json' }, body }).catch(() => {});
  }, 1000);
`;
