import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { shardOf } from '#shared/kafka/fair-partitioner.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import type { Fault, Scene } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';

const BACKLOG = 100_000;
const BATCH = 2_000;
/** The partitions of an account on the free or paid tier. */
const SHARE = 4;

/** The backlog is published as by a gateway, without the hours that the rate limit would take. */
export const f25Backlog: Fault = {
  id: 'F25',
  title: "one client's 100 000-check backlog",
  isDestructive: true,
  async run(scene) {
    const { system, ledger, seconds, rest } = scene;
    const baseline = await rest(seconds * 500);
    await writeBacklog(scene);
    const underFault = await rest(seconds * 1_000);
    const left = await lagOf(system, CONSUMER_GROUPS.lanes.bulk, checkRequestedBulk.name);
    return () => {
      const timesIn = (span: typeof baseline, mode: string) =>
        resultTimes(begunIn(ledger.attempts, span).filter((attempt) => attempt.mode === mode));
      return {
        figures: [
          timesBaseline(
            "others' poll result p99",
            timesIn(underFault, 'poll'),
            timesIn(baseline, 'poll'),
            1.5,
          ),
          timesBaseline("others' sync p99", timesIn(underFault, 'sync'), timesIn(baseline, 'sync'), 1.5),
          { what: 'backlog left at the end', measured: String(left), goal: '> 0', met: left > 0 },
        ],
      };
    };
  },
};

async function writeBacklog({ system, app }: Scene): Promise<void> {
  const { open, chain } = system;
  const document = await open.clientApps.read(app.clientId);
  if (document === undefined) throw new Error('the app of the load has no document');
  const accountId = strangerTo(document.accountId);
  const owner = { clientId: 'app_backlog', accountId };
  const acceptedAt = new Date(open.clock.now()).toISOString();
  const retainUntil = new Date(open.clock.now() + 3_600_000).toISOString();
  const { address, ...rule } = erc20Rule(chain);
  for (let first = 0; first < BACKLOG; first += BATCH)
    await Promise.all(
      Array.from({ length: BATCH }, (_, i) =>
        open.kafka.publish(
          checkRequestedBulk,
          {
            ...{ requestId: `backlog-${first + i}`, ...owner, account: address, acceptedAt, retainUntil },
            keyId: 'key_backlog',
            rules: [rule],
            onUndetermined: 'omit',
            consistency: { blockTag: 'latest', minBlock: {} },
            delivery: { mode: 'poll' },
          },
          { fairness: { accountId, partitionShare: SHARE } },
        ),
      ),
    );
}

function erc20Rule(chain: Scene['system']['chain']) {
  const { contractAddress = '', ...rule } = demoRules(chain).erc20({ minToken: '1500.5' });
  return { ...rule, type: 'ERC20' as const, contractAddress, minToken: '1500.5', address: chain.holder };
}

/** A client with some partitions that the other client does not use. */
function strangerTo(accountId: string): string {
  const own = new Set(shardOf(accountId, 12, checkRequestedBulk.partitionCount));
  for (let i = 0; ; i++) {
    const name = `acc_backlog${i}`;
    if (shardOf(name, SHARE, checkRequestedBulk.partitionCount).some((one) => !own.has(one))) return name;
  }
}
