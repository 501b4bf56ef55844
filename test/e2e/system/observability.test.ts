// A system exports its spans over OTLP, and a real Prometheus scrapes it. Each check is one trace
// through all processes, which links to the client's trace and does not join it. Every series of
// the rules and dashboards exists; and when every evaluator is frozen, the alerts for stalled work
// fire, and clear after the evaluators go on.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { type ReceivedSpan, receiveSpans, type SpanReceiver } from '../../support/fakes/receive-spans.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import {
  describeWithPrometheus,
  type Prometheus,
  startPrometheus,
} from '../../support/infrastructure/prometheus.ts';
import { knownSeries } from '../../support/judges/metric-inventory.ts';
import { loadDashboardQueries, loadRules, RULES } from '../../support/judges/monitoring-files.ts';
import { asAsked, parseQuery } from '../../support/judges/promql.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil, waitUntilPasses } from '../../support/wait-until.ts';

let collector: SpanReceiver;
let system: StartedSystem;
let receiver: WebhookReceiver;
beforeAll(async () => {
  collector = await receiveSpans();
  system = await startSystem({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      LOG_LEVEL: 'debug',
    },
  });
  receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await system?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

const CONSUMER = 5;

/** All spans of a webhook check: each span with its process, and its parent span. */
const EXPECTED_SPANS = [
  ['POST checkRoles', 'rolecall-gateway', ''],
  ['send check.requested.bulk.v1', 'rolecall-gateway', 'POST checkRoles'],
  ['process check.requested.bulk.v1', 'rolecall-evaluator', 'send check.requested.bulk.v1'],
  ['read chain', 'rolecall-evaluator', 'process check.requested.bulk.v1'],
  ['chain batch', 'rolecall-evaluator', 'read chain'],
  ['send webhook.requested.v1', 'rolecall-evaluator', 'process check.requested.bulk.v1'],
  ['process webhook.requested.v1', 'rolecall-result-store', 'send webhook.requested.v1'],
  ['process webhook.requested.v1', 'rolecall-webhook-dispatcher', 'send webhook.requested.v1'],
  ['webhook attempt', 'rolecall-webhook-dispatcher', 'process webhook.requested.v1'],
  ['send webhook.attempted.v1', 'rolecall-webhook-dispatcher', 'process webhook.requested.v1'],
];

const spansOf = (traceId: string): ReceivedSpan[] =>
  collector.spans.filter((span) => span.traceId === traceId);

/** The trace of a check, once it holds all expected spans: by default a webhook's whole path. */
async function traceOf(
  requestId: string,
  isWhole = (spans: readonly ReceivedSpan[]) => spans.length >= EXPECTED_SPANS.length,
): Promise<readonly ReceivedSpan[]> {
  return waitUntil('the spans of a check', () => {
    const sent = collector.spans.find(
      ({ name, attributes }) =>
        name.startsWith('send check.requested') && attributes['messaging.kafka.message.key'] === requestId,
    );
    const spans = sent ? spansOf(sent.traceId) : [];
    return isWhole(spans) && spans;
  });
}

const sendCheck = async (traceparent: string): Promise<string> => {
  const answer = await system.client.check(
    {
      // A new account every time: a cached balance needs no RPC call and leaves no span of one.
      account: `0x${randomBytes(20).toString('hex')}`,
      rules: [demoRules(system.chain).erc20({ minToken: '1500.5' })],
      callbackUrl: receiver.url,
    },
    { traceparent },
  );
  expect(answer.status).toBe(202);
  return answer.body.requestId ?? '';
};

test('a check is one trace from its request to the stored result and the webhook, through every process', async () => {
  const client = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') };
  // Not sampled by the client, which does not decide what we record.
  const requestId = await sendCheck(`00-${client.traceId}-${client.spanId}-00`);
  const spans = await traceOf(requestId);

  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  const seen = spans.map(({ name, service, parentSpanId }) => [
    name,
    service,
    nameOf.get(parentSpanId ?? '') ?? '',
  ]);
  expect(seen.sort()).toEqual([...EXPECTED_SPANS].sort());
  expect(spans.filter(({ status }) => status?.code === 2)).toEqual([]);

  const [first] = spans.filter(({ parentSpanId }) => !parentSpanId);
  expect(first?.traceId).not.toBe(client.traceId);
  expect(first?.links).toEqual([expect.objectContaining(client)]);
  expect(spansOf(client.traceId)).toEqual([]);
});

test('the receiver of a webhook can continue the trace of the attempt that reached it', async () => {
  const requestId = await sendCheck('nonsense');
  const { headers } = await receiver.waitFor((webhook) => webhook.requestId === requestId);
  const spans = await traceOf(requestId);
  const attempt = spans.find(({ name }) => name === 'webhook attempt');
  expect(headers['traceparent']).toBe(`00-${attempt?.traceId}-${attempt?.spanId}-01`);
});

test('the trace of a sync check ends in the store, and a problem answer names its trace', async () => {
  const { native } = demoRules(system.chain);
  const answer = await system.client.check({ account: system.chain.holder, rules: [native()] });
  // The span of the request ends last, and each process exports its spans itself.
  const spans = await traceOf(answer.body.requestId ?? '', (so) => {
    const consumers = so.filter(({ kind }) => kind === CONSUMER).map(({ service }) => service);
    const isStored = ['rolecall-evaluator', 'rolecall-result-store'].every((name) =>
      consumers.includes(name),
    );
    return isStored && so.some(({ name }) => name === 'POST checkRoles');
  });
  expect(spans.filter(({ parentSpanId }) => !parentSpanId).map(({ name }) => name)).toEqual([
    'POST checkRoles',
  ]);

  const refused = await system.client.check({ account: 'nobody' });
  const { instance } = JSON.parse(refused.text) as { instance: string };
  const traceId = instance.replace('/requests/', '');
  const span = await waitUntil('the span of the refused request', () => spansOf(traceId)[0]);
  expect(span.attributes).toMatchObject({ 'http.response.status_code': 422, 'http.route': 'checkRoles' });
});

test('the log lines of every process name the trace of their check', async () => {
  const requestId = await sendCheck('nonsense');
  const [{ traceId } = { traceId: '' }] = await traceOf(requestId);
  const services = await waitUntil('log lines of all processes', () => {
    const about = system
      .log()
      .split('\n')
      .filter((line) => line.includes(traceId));
    const found = new Set(about.map((line) => line.split(' ')[0]));
    return found.size >= 4 && found;
  });
  expect([...services].sort()).toEqual(['evaluator', 'gateway', 'result-store', 'webhook-dispatcher']);
});

test('spans contain no secret, account or receiver address, and only spans are exported', () => {
  const { app } = system.ready;
  const words = [app.apiKey, app.webhookSecret, system.chain.holder.slice(2), receiver.url];
  for (const word of words)
    expect(collector.bodies.filter((body) => body.toLowerCase().includes(word.toLowerCase()))).toEqual([]);
  expect(collector.strays).toEqual([]);
});

/** The rules with their durations shortened: minutes become a second. */
const withShortDurations = (text: string): string =>
  text
    .replaceAll(/for: \d+[mh]$/gm, 'for: 1s')
    .replaceAll(/(oldest_un\w+_seconds:max\{[^}]*\}) > \d+/g, '$1 > 2');

/** ALERTS exists only while an alert fires; here no exporter of disks runs, and Redis has no bound. */
const NOT_HERE = /^(ALERTS|(kubelet|node)_.*|rolecall:(redis_(used:ratio|full_in_.*)|broker_disk_.*))$/;

/** They are right to fire on a machine that is busy with something else: its checks are late. */
const OF_SLOW_MACHINES = /^(SyncBudgetBurns(Fast|Slowly)|EventLoopSlow)$/;
/** It fires always, so that its absence shows that no alert would arrive. */
const WATCHDOG = 'Watchdog';

const STALLED = ['BulkLaneStalled', 'ConsumerDead', 'ProcessMissing'];

describeWithPrometheus('Prometheus', () => {
  let prometheus: Prometheus;
  beforeAll(async () => {
    prometheus = await startPrometheus({
      targets: system.ready.processes.flatMap(({ service, ops }) =>
        ops === null ? [] : [{ service, address: new URL(ops).host }],
      ),
      rules: readdirSync(RULES).map((file) => withShortDurations(readFileSync(join(RULES, file), 'utf8'))),
    });
  });
  afterAll(async () => {
    await prometheus?.[Symbol.asyncDispose]();
  });

  const aCheck = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });

  /** A watch, so that the chain's transfers are followed. */
  async function watchHolder(callbackUrl: string): Promise<void> {
    const send = (method: string, path: string, body: object) =>
      system.client.mustSend(method, `/access-control/${path}`, body);
    await send('PUT', 'rule-sets/holders', { rules: aCheck().rules });
    await send('PUT', 'watches/holders', { ruleSet: 'holders', callbackUrl, everySeconds: 604_800 });
    await send('POST', 'watches/holders/members', { add: [{ account: system.chain.holder, ref: 'holder' }] });
  }

  test('every series of the rules and dashboards exists after a little load', async () => {
    await using receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
    for (let round = 0; round < 3; round++) expect((await system.client.check(aCheck())).status).toBe(200);
    await system.client.checkAndWait(aCheck());
    const { body } = await system.client.check({ ...aCheck(), callbackUrl: receiver.url });
    await receiver.waitFor(({ requestId }) => requestId === body.requestId);
    await watchHolder(receiver.url);
    await receiver.waitFor(({ body }) => body.includes('roles.changed'));
    await fetch(new URL('/api/session', system.ready.portal));

    const asked = [...loadRules(), ...loadDashboardQueries()].flatMap(
      ({ expr }) => parseQuery(expr).selectors,
    );
    const missing = new Set(asked.filter(({ name }) => !NOT_HERE.test(name)).map(({ text }) => text));
    const isThere = async (text: string) => (await prometheus.query(`count(${text})`)).length > 0;
    await waitUntil('every series', async () => {
      for (const text of missing) if (await isThere(text)) missing.delete(text);
      return missing.size === 0;
    }).catch(() => undefined);
    expect([...missing]).toEqual([]);
  });

  test('Prometheus answers every query of the dashboards', async () => {
    const answers = await Promise.all(
      loadDashboardQueries().map(async ({ place, expr }) => ({
        place,
        answer: await prometheus.query(asAsked(expr)),
      })),
    );
    expect(answers.length).toBeGreaterThan(50);
  });

  test('a process exposes no metric of the product that is missing from its list', async () => {
    const shown = await prometheus.query('count by (__name__) ({__name__=~"rolecall_.+"})');
    const known = knownSeries();
    expect(shown.map(({ metric }) => metric['__name__'] ?? '').filter((name) => !known.has(name))).toEqual(
      [],
    );
  });

  test('no alert is pending or firing in a healthy system', async () => {
    const names = async () =>
      (await prometheus.alerts()).flatMap(({ labels: { alertname = '' } }) =>
        OF_SLOW_MACHINES.test(alertname) || alertname === WATCHDOG ? [] : [alertname],
      );
    await waitUntilPasses(async () => expect(await names()).toEqual([]));
  });

  test('alerts for stalled work fire when every evaluator is frozen, and clear after they go on', async () => {
    const { body, status } = await system.client.check({ ...aCheck(), async: true });
    expect(status).toBe(202);
    await system.client.poll(body.requestId ?? '', 10);
    // A killed evaluator would be restarted, and might evaluate the check before it is killed
    // again.
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of system.pidsOf('evaluator')) process.kill(pid, signal);
    };
    const fires = async (name: string) =>
      (await prometheus.alerts()).some(
        ({ labels, state }) => labels['alertname'] === name && state === 'firing',
      );
    signalAll('SIGSTOP');
    const waiting = await system.client.check({ ...aCheck(), async: true });
    try {
      expect(waiting.status).toBe(202);
      for (const name of STALLED) await waitUntil(`${name} to fire`, () => fires(name));
      const [firing] = loadDashboardQueries().filter(({ expr }) => expr.includes('ALERTS'));
      await waitUntil(
        'the list of alerts',
        async () => (await prometheus.query(firing?.expr ?? '')).length > 0,
      );
      await waitUntil('the link to the runbook', async () =>
        (await prometheus.alerts()).some(
          ({ annotations }) => annotations['runbook_url'] === 'http://runbook.example/#consumerdead',
        ),
      );
    } finally {
      signalAll('SIGCONT');
    }
    const answer = await waitUntil('the result', async () => {
      const polled = await system.client.poll(waiting.body.requestId ?? '', 5);
      return polled.status === 200 && polled;
    });
    expect(answer.body.roles).toEqual([{ id: 'erc20', granted: true }]);
    for (const name of STALLED) await waitUntil(`${name} to clear`, async () => !(await fires(name)));
  });
});
