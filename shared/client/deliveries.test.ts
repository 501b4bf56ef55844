import { type Answers, type Step, startAnswers } from '../../test/support/client/answer-by-steps.ts';
import { Rolecall } from './rolecall.ts';

let answers: Answers;
afterEach(() => answers?.[Symbol.asyncDispose]());
async function start(...steps: readonly Step[]): Promise<Rolecall> {
  answers = await startAnswers(...steps);
  return new Rolecall({ baseUrl: answers.url, apiKey: 'rck_live_secret' });
}
const json = (body: object, status = 200): Step => ({
  do: 'answer',
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const seen = () =>
  answers.requests.map(({ method, url }) => `${method} ${url.replace('/access-control', '')}`);

test('the failed deliveries are listed over pages, a page may be empty, and one is read with its attempts', async () => {
  const rolecall = await start(
    json({ deliveries: [{ webhookId: 'msg_a' }], next: 'msg_a' }),
    json({ deliveries: [], next: 'msg_b' }),
    json({ deliveries: [{ webhookId: 'msg_c' }] }),
    json({ webhookId: 'msg_c', attempts: [{ attempt: 1 }] }),
  );
  const listed: string[] = [];
  for await (const { webhookId } of rolecall.deliveries.list({ state: 'exhausted' })) listed.push(webhookId);
  expect(listed).toEqual(['msg_a', 'msg_c']);
  expect((await rolecall.deliveries.get('msg_c')).attempts).toHaveLength(1);
  expect(seen()).toEqual([
    'GET /deliveries?state=exhausted&limit=200',
    'GET /deliveries?state=exhausted&limit=200&after=msg_a',
    'GET /deliveries?state=exhausted&limit=200&after=msg_b',
    'GET /deliveries/msg_c',
  ]);
});

test('one webhook is sent again, or all that failed since an instant', async () => {
  const rolecall = await start({ do: 'answer', status: 202 }, json({ count: 3 }, 202));
  await rolecall.deliveries.resend('msg_a');
  const since = new Date('2026-11-20T10:00:00Z');
  expect(await rolecall.deliveries.resendFailed(since)).toEqual({ count: 3 });
  expect(seen()).toEqual(['POST /deliveries/msg_a/resend', 'POST /deliveries/resend-failed']);
  expect(JSON.parse(answers.requests[1]?.body ?? '')).toEqual({ since: since.toISOString() });
});

test('a resend whose outcome is unknown is not repeated: the webhook would be sent once more', async () => {
  const rolecall = await start({ do: 'reset' }, { do: 'reset' });
  await expect(rolecall.deliveries.resend('msg_a')).rejects.toMatchObject({ code: 'network-unavailable' });
  await expect(rolecall.deliveries.resendFailed('2026-11-20T10:00:00Z')).rejects.toMatchObject({
    code: 'network-unavailable',
  });
  expect(seen()).toHaveLength(2);
});
