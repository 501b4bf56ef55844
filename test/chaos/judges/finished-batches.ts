import { demoRules } from '../../support/builders/demo-rules.ts';
import { makeBatchClient } from '../../support/systems/batch-client.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { addressOf, type HoldingApp } from '../load/holders.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';
import type { Credentials } from '../system/create-app.ts';

const RULES = 100;
const BATCH_MS_MAX = 240_000;

/** Gives each app a finished batch of many roles; with `consistency` in the head its lines may list
 * an error for each. */
export async function withBatches(
  { chain, gateways, open }: ChaosSystem,
  apps: readonly Credentials[],
  entries: number,
  head: object = {},
): Promise<HoldingApp[]> {
  const rules = Array.from({ length: RULES }, (_, i) =>
    demoRules(chain).native({ roleId: `${'x'.repeat(120)}${i}`, minToken: `${i + 1}` }),
  );
  const accounts = Array.from({ length: entries }, (_, place) => addressOf(place));
  const made: HoldingApp[] = [];
  for (const [place, { apiKey }] of apps.entries()) {
    const client = makeBatchClient({ url: gateways[place % gateways.length]?.url ?? '', apiKey });
    // The load is running, and a gateway may refuse for a moment.
    const batchId = await waitUntil('a batch to be accepted', () =>
      client.post({ ...head, rules }, accounts).catch(() => undefined),
    );
    made.push({ apiKey, batchId });
  }
  await waitUntil(
    'the batches to end',
    async () => (await open.batches.countUnfinished(Date.now())) === 0,
    BATCH_MS_MAX,
  );
  return made;
}
