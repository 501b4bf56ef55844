import { demoRules } from '../../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../../support/fakes/receive-webhooks.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault, Scene } from '../../fault.ts';
import { atMost, type Figure } from '../../judges/measure.ts';
import { badAnswers, startBadTls } from '../../load/bad-receivers.ts';
import { balance } from '../../system/balance.ts';
import type { ChaosSystem } from '../../system/chaos-system.ts';
import { createApp } from '../../system/create-app.ts';
import { rssMibOf } from '../../system/process-facts.ts';

export const f16BadReceivers: Fault = {
  id: 'F16',
  title:
    'receivers: 500, 429, redirect inwards, 410, endless body, endless 103, slow drip, reset, bad TLS, huge headers',
  async run(scene) {
    const { system, receiver, receive, sendTo, seconds, rest, scope } = scene;
    const internal = scope.use(await receiveWebhooks());
    const kinds = await Promise.all(
      Object.entries(badAnswers(internal.url)).map(async ([kind, bad]) => ({
        kind,
        class: bad.class,
        answer: bad.answer,
        receiver: await receive(),
      })),
    );
    const memory = () => rssMibOf(system.running('webhook-dispatcher')[0]?.pid ?? 0);
    const before = memory();
    for (const bad of kinds) bad.receiver.setAnswer(bad.answer);
    sendTo([receiver.url, ...kinds.map((bad) => bad.receiver.url)]);
    await rest(seconds * 1_000);
    const growth = memory() / before;
    sendTo([receiver.url]);
    for (const bad of kinds) bad.receiver.setAnswer(bad.kind === '410' ? 410 : 204);
    const tls = await tryBadTls(scene);
    return async () => {
      const found = await Promise.all(
        kinds.map(async ({ kind, class: expected, receiver: { deliveries } }) => ({
          kind,
          expected,
          class: await firstClassOf(system, deliveries[0]?.requestId ?? ''),
        })),
      );
      const wrong = [...found, { kind: 'bad TLS', expected: 'tls-failed', class: tls }].filter(
        (one) => one.class !== one.expected,
      );
      const figure: Figure = {
        what: 'classified',
        measured: `${found.length + 1 - wrong.length} of ${found.length + 1}`,
        goal: 'all',
        met: wrong.length === 0,
      };
      return {
        figures: [figure, atMost("dispatcher's memory", growth, 1.25, '×')],
        broken: [
          ...wrong.map((one) => `${one.kind}: ${one.class}, not ${one.expected}`),
          ...(internal.deliveries.length > 0 ? ['a redirect was followed'] : []),
        ],
      };
    };
  },
};

async function firstClassOf({ open }: ChaosSystem, requestId: string): Promise<string | undefined> {
  return (await open.deliveries.read(requestId))?.attempts[0]?.class;
}

/** Uses a separate client, because such a delivery ends hours later: the row looks at its first
 * attempt. */
async function tryBadTls({ system, scope }: Scene): Promise<string | undefined> {
  const tls = scope.use(await startBadTls());
  const client = scope.use(balance(system.gateways, (await createApp(system, 'Bad TLS')).apiKey));
  const check = { account: system.chain.holder, rules: [demoRules(system.chain).native()] };
  const { body } = await client.check({ ...check, callbackUrl: tls.url });
  return waitUntil('an attempt at bad TLS', () => firstClassOf(system, body.requestId ?? ''));
}
