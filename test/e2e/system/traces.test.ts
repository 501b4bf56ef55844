// A system exports its spans over OTLP, and a client with a trace of its own sends webhook checks.
// Each check must be one trace through all processes that links to the client's trace and does not join it.
import { randomBytes } from 'node:crypto';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { type ReceivedSpan, receiveSpans, type SpanReceiver } from '../../support/fakes/receive-spans.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

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
  ['send check.completed.v1', 'rolecall-evaluator', 'process check.requested.bulk.v1'],
  ['process check.completed.v1', 'rolecall-result-store', 'send check.completed.v1'],
  ['process check.completed.v1', 'rolecall-webhook-dispatcher', 'send check.completed.v1'],
  ['webhook attempt', 'rolecall-webhook-dispatcher', 'process check.completed.v1'],
  ['send webhook.attempted.v1', 'rolecall-webhook-dispatcher', 'process check.completed.v1'],
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
