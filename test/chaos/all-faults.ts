import type { Fault } from './fault.ts';
import { f07KillBroker } from './faults/broker/f07-kill-broker.ts';
import { f08FreezeBroker } from './faults/broker/f08-freeze-broker.ts';
import { f09KillLeader } from './faults/broker/f09-kill-leader.ts';
import { f17Poison } from './faults/broker/f17-poison.ts';
import { f23FullDisk } from './faults/broker/f23-full-disk.ts';
import { f13ChainDown } from './faults/chains/f13-chain-down.ts';
import { f14BadRpc } from './faults/chains/f14-bad-rpc.ts';
import { f26HostileToken } from './faults/chains/f26-hostile-token.ts';
import { f27DeadChainClient } from './faults/chains/f27-dead-chain-client.ts';
import { f32LyingProvider } from './faults/chains/f32-lying-provider.ts';
import { f33Reorg } from './faults/chains/f33-reorg.ts';
import { f34BadLogs } from './faults/chains/f34-bad-logs.ts';
import { f37Providers } from './faults/chains/f37-providers.ts';
import { f20QuotaRace } from './faults/clients/f20-quota-race.ts';
import { f21RateRace } from './faults/clients/f21-rate-race.ts';
import { f25Backlog } from './faults/clients/f25-backlog.ts';
import { f30BigBatch } from './faults/clients/f30-big-batch.ts';
import { f35HostileClient } from './faults/clients/f35-hostile-client.ts';
import { f38FillTheDay } from './faults/clients/f38-fill-the-day.ts';
import { f39HoldShares } from './faults/clients/f39-hold-shares.ts';
import { f40LargestRequests } from './faults/clients/f40-largest-requests.ts';
import { f42SignIns } from './faults/clients/f42-sign-ins.ts';
import { f15HangingReceivers } from './faults/receivers/f15-hanging-receivers.ts';
import { f16BadReceivers } from './faults/receivers/f16-bad-receivers.ts';
import { f10KillRedis } from './faults/redis/f10-kill-redis.ts';
import { f11WipeRedis } from './faults/redis/f11-wipe-redis.ts';
import { f12FreezeRedis } from './faults/redis/f12-freeze-redis.ts';
import { f28RewindRedis } from './faults/redis/f28-rewind-redis.ts';
import { f36RedisFailover } from './faults/redis/f36-redis-failover.ts';
import { f43AnotherRedis } from './faults/redis/f43-another-redis.ts';
import { f45FullRedis } from './faults/redis/f45-full-redis.ts';
import { f00None } from './faults/services/f00-none.ts';
import { f01KillGateways } from './faults/services/f01-kill-gateways.ts';
import { f02KillEvaluators } from './faults/services/f02-kill-evaluators.ts';
import { f03KillResultStore } from './faults/services/f03-kill-result-store.ts';
import { f04KillDispatcher } from './faults/services/f04-kill-dispatcher.ts';
import { f05KillAll } from './faults/services/f05-kill-all.ts';
import { f06RollRestart } from './faults/services/f06-roll-restart.ts';
import { f18ChangeConsumers } from './faults/services/f18-change-consumers.ts';
import { f19ConsumerCrash } from './faults/services/f19-consumer-crash.ts';
import { f22WrongClock } from './faults/services/f22-wrong-clock.ts';
import { f29Batches } from './faults/services/f29-batches.ts';
import { f31Watches } from './faults/services/f31-watches.ts';
import { f41SyncSave } from './faults/services/f41-sync-save.ts';
import { f44Transfer } from './faults/services/f44-transfer.ts';

/** The matrix without the soak. */
export const ALL_FAULTS: readonly Fault[] = [
  f00None,
  f01KillGateways,
  f02KillEvaluators,
  f03KillResultStore,
  f04KillDispatcher,
  f05KillAll,
  f06RollRestart,
  f07KillBroker,
  f08FreezeBroker,
  f09KillLeader,
  f10KillRedis,
  f11WipeRedis,
  f12FreezeRedis,
  f13ChainDown,
  f14BadRpc,
  f15HangingReceivers,
  f16BadReceivers,
  f17Poison,
  f18ChangeConsumers,
  f19ConsumerCrash,
  f20QuotaRace,
  f21RateRace,
  f22WrongClock,
  f23FullDisk,
  f25Backlog,
  f26HostileToken,
  f27DeadChainClient,
  f28RewindRedis,
  f29Batches,
  f30BigBatch,
  f31Watches,
  f32LyingProvider,
  f33Reorg,
  f34BadLogs,
  f35HostileClient,
  f36RedisFailover,
  f37Providers,
  f38FillTheDay,
  f39HoldShares,
  f40LargestRequests,
  f41SyncSave,
  f42SignIns,
  f43AnotherRedis,
  f44Transfer,
  f45FullRedis,
];

/** Short rows that can share one system, for `npm test`, which kills services in suites of its
 * own. */
export const SELECTION = ['F0', 'F7', 'F10', 'F15', 'F17'] as const;
