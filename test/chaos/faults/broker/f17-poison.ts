import { readFileSync } from 'node:fs';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { LANES } from '#shared/contracts/checks/check-requested.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { countRecords } from '../../../support/infrastructure/topic-work.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault, Scene } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { atMost, begunIn, resultTimes, timesBaseline } from '../../judges/measure.ts';
import { balance } from '../../system/balance.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { createApp } from '../../system/create-app.ts';

const MIB = 1024 * 1024;
const TRIES_MAX = 3;
/** The lag that the load itself causes. */
const CAUGHT_UP_LAG = 100;
const WORK = [
  { groupId: CONSUMER_GROUPS.lanes.interactive, topic: LANES.interactive },
  { groupId: CONSUMER_GROUPS.lanes.bulk, topic: LANES.bulk },
  { groupId: CONSUMER_GROUPS.results, topic: checkCompleted },
  { groupId: CONSUMER_GROUPS.webhooks, topic: webhookRequested },
] as const;
const POISON: readonly (string | null)[] = [
  'not JSON',
  '{"unknown":"schema"}',
  null,
  JSON.stringify({ large: 'x'.repeat(MIB) }),
  '[]',
];

export const f17Poison: Fault = {
  id: 'F17',
  title: 'poison: not JSON, unknown schema, 1 MB record, null value, a handler bug on one message',
  async run(scene) {
    const { system, ledger, seconds, rest, timesDecide } = scene;
    const before = await deadLetters(system);
    const baseline = await rest(seconds * 500);
    let poisonCount = 0;
    for (const { topic } of WORK)
      for (const [i, value] of POISON.entries()) {
        await system.open.kafka.publishRecord(topic.name, { key: `poison-${i}`, value });
        // The topic of webhooks has two consumer groups, and each of them dead-letters the record.
        poisonCount += topic === webhookRequested ? 2 : 1;
      }
    const bug = await meetBug(scene);
    const underFault = await rest(seconds * 1_000);
    await waitUntil('the lag to fall', async () => {
      const lags = await Promise.all(WORK.map(({ groupId, topic }) => lagOf(system, groupId, topic.name)));
      return lags.every((lag) => lag < CAUGHT_UP_LAG);
    });
    const letters = (await deadLetters(system)) - before;
    // A consumer that the group expelled while it dead-lettered a record leaves the record to
    // another, which writes it again.
    const areRight = timesDecide ? letters === poisonCount + 1 : letters > poisonCount;
    const timesIn = (span: typeof baseline) => resultTimes(begunIn(ledger.attempts, span));
    const tries = triesOf(system, bug.requestId);
    return () => ({
      figures: [
        timesBaseline("others' p99", timesIn(underFault), timesIn(baseline), 1.2),
        atMost('attempts at the message that triggers a bug', tries, TRIES_MAX),
      ],
      broken: [
        ...(areRight ? [] : [`${letters} dead-lettered records of ${poisonCount + 1}`]),
        ...(bug.code === 'internal' ? [] : [`the bug ended as ${bug.code}`]),
      ],
    });
  },
};

/** Sends a valid check that triggers a bug in the evaluator (`preload/handler-bug.ts`): it ends as
 * failed. */
async function meetBug({ system, scope }: Scene): Promise<{ requestId: string; code: string | undefined }> {
  const client = scope.use(balance(system.gateways, (await createApp(system, 'Bug')).apiKey));
  const rules = [demoRules(system.chain).native({ roleId: 'bug-1' })];
  const { body } = await client.check({ account: system.chain.holder, rules, async: true });
  const { requestId = '' } = body;
  const result = await waitUntil('the end of the check that triggers a bug', async () => {
    const answer = await client.poll(requestId, 10);
    return answer.status === 200 && answer.body;
  });
  return { requestId, code: result.errors?.[0]?.code };
}

const deadLetters = ({ open }: ChaosSystem): Promise<number> =>
  countRecords(
    open.kafka.admin,
    WORK.map(({ topic }) => deadLetterSpecOf(topic)),
  );

/** How often a record failed, according to the log. */
const triesOf = ({ logFile }: ChaosSystem, key: string): number =>
  readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes(key) && line.includes('"record failed"')).length;
