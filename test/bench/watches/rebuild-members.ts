import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { watchMember } from '#shared/contracts/watches/watch.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startBenchSystem, sumOf, usedBetween } from '../system/bench-system.ts';
import type { Table } from '../table.ts';
import { anAccount, memberBytesOf, putWatch, readToldMember, startReceiver } from './sweep-members.ts';

const MEMBERS = 1_000_000;
/** Members published at a time. */
const COPIES = 1_000;
const WAIT_MS_MAX = 1_200_000;

/** Measures how long a million members take to come back after Redis was wiped. */
export async function benchRebuild(): Promise<Table> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const bench = stack.use(await startBenchSystem());
  const { kafka, redis, views } = bench.open;
  const { client } = bench.system;
  await putWatch(bench, receiver);
  await client.mustSend('POST', `${WATCHES_PATH}/bench/members`, { add: [anAccount()] });
  await waitUntil('the first event', () => receiver.firsts() === 1);
  const told = await readToldMember(bench);
  for (let copies = 1; copies < MEMBERS; copies += COPIES)
    await Promise.all(
      Array.from({ length: Math.min(COPIES, MEMBERS - copies) }, (_, i) => {
        const copy = { ...told, memberId: `copy-${copies + i}`, wallets: { account: anAccount() } };
        return kafka.publish(watchMember, copy);
      }),
    );

  const [cpuBefore, began] = [bench.cpuSeconds(), performance.now()];
  await redis.flushall('ASYNC');
  const areComplete = async () => (await views.readState().catch(() => undefined)) === 'complete';
  await waitUntil('the views', areComplete, WAIT_MS_MAX);
  const seconds = (performance.now() - began) / 1_000;
  const used = usedBetween(cpuBefore, bench.cpuSeconds());
  const { members } = await makeWatchMembers(redis).figures(told.watchUid);
  if (members !== MEMBERS) throw new Error(`${members} of ${MEMBERS} members came back`);
  return {
    title: 'rebuild: Redis wiped, everything made again from Kafka',
    rows: [
      { what: `${MEMBERS} members back`, measured: seconds, unit: 's' },
      { what: 'the same, all processes', measured: sumOf(used), unit: 'CPU s' },
      {
        what: 'Redis bytes per member',
        measured: (await memberBytesOf(bench)) / MEMBERS,
        unit: 'bytes',
        goal: { of: 'value', max: 600 },
      },
    ],
    notes: ['One member was added, checked and told; the others were published as copies of it.'],
  };
}
