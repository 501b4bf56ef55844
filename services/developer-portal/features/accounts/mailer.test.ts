import { Counter, Registry } from 'prom-client';
import { receiveMails } from '../../../../test/support/fakes/receive-mails.ts';
import { waitUntil } from '../../../../test/support/wait-until.ts';
import { type Message, makeMailer } from './mailer.ts';

/** As long as a real one: no line break may be put into it. */
const LINK = `https://portal.example.com/reset-password#acc_${'a'.repeat(24)}.${'B'.repeat(43)}`;
const from = 'Rolecall <rolecall@example.com>';
const aMessage = (over: Partial<Message> = {}): Message => ({
  to: 'dev@example.com',
  subject: 'A subject',
  text: `Open this link:\n\n${LINK}\n\n${'A long line of words that a mail program may break where there is a blank. '.repeat(2)}\n`,
  ...over,
});

/** A mailer that retries at once, with its counts and log lines. */
function setUp(url: string, stopMsMax?: number) {
  const mails = new Counter({
    name: 'mails',
    help: '-',
    labelNames: ['outcome'],
    registers: [new Registry()],
  });
  const logged: unknown[] = [];
  const log = { warn: (facts: unknown) => void logged.push(facts) };
  const options = { retryDelaysMs: [1, 1], ...(stopMsMax !== undefined && { stopMsMax }) };
  const mailer = makeMailer({ url, from }, { metrics: { mails }, log: log as never, ...options });
  const counted = async () =>
    Object.fromEntries((await mails.get()).values.map(({ labels, value }) => [labels.outcome, value]));
  return { mailer, counted, logged };
}

test('sends a message from the configured sender to one recipient, over a connection with a password', async () => {
  await using server = await receiveMails();
  const { mailer, counted } = setUp(server.url);
  await using _ = mailer;
  expect(await mailer.send('192.0.2.1', async () => aMessage())).toBe(true);
  const mail = await server.waitFor(() => true);
  expect(mail).toMatchObject({ from: 'rolecall@example.com', recipients: ['dev@example.com'] });
  expect(mail.text).toContain('Subject: A subject');
  expect(mail.text).toContain(`\r\n${LINK}\r\n`);
  await waitUntil('the message to be counted', async () => (await counted())['sent'] === 1);
});

test.each(['dev@example.com,eve', 'x<eve@evil.example>', 'dev;eve@evil.example'])(
  'the address %s names at most one recipient',
  async (to) => {
    await using server = await receiveMails();
    const { mailer, counted } = setUp(server.url);
    await using _ = mailer;
    void mailer.send('192.0.2.1', async () => aMessage({ to }));
    await waitUntil('the message to be settled', async () => Object.values(await counted()).length > 0);
    for (const { recipients } of server.mails)
      expect(recipients.map((address) => address.replaceAll('"', ''))).toEqual([to]);
  },
);

test('a message that the server refuses for a while is sent again, and a final refusal is not', async () => {
  await using busy = await receiveMails((attempt) => (attempt < 3 ? 451 : undefined));
  const first = setUp(busy.url);
  await using _ = first.mailer;
  void first.mailer.send('192.0.2.1', async () => aMessage());
  await busy.waitFor(() => true);
  expect(busy.attempts()).toBe(3);

  await using closed = await receiveMails(() => 550);
  const second = setUp(closed.url);
  await using __ = second.mailer;
  expect(await second.mailer.send('192.0.2.1', async () => aMessage())).toBe(false);
  await waitUntil('the refusal to be counted', async () => (await second.counted())['failed'] === 1);
  expect(closed.attempts()).toBe(1);
  expect(second.logged).toHaveLength(1);
  expect(JSON.stringify(second.logged)).not.toContain('dev@');
});

test('a stopping process does not send the messages that still wait', async () => {
  await using server = await receiveMails();
  const { mailer, counted } = setUp(server.url, 0);
  const held = Promise.withResolvers<undefined>();
  for (let i = 0; i < 4; i++) void mailer.send(`192.0.2.${i}`, () => held.promise);
  void mailer.send('192.0.2.9', async () => aMessage());
  const stopped = mailer[Symbol.asyncDispose]();
  // Timers of one length end in their order.
  await new Promise((resolve) => setTimeout(resolve, 0));
  held.resolve(undefined);
  await stopped;
  expect([server.attempts(), await counted()]).toEqual([0, { failed: 1 }]);
});

test('an empty message is not sent, and messages beyond the bound are dropped', async () => {
  await using server = await receiveMails();
  const { mailer, counted } = setUp(server.url);
  const held = Promise.withResolvers<undefined>();
  for (let i = 0; i < 110; i++) void mailer.send(`192.0.2.${i}`, () => held.promise);
  await waitUntil('the surplus to be dropped', async () => (await counted())['failed'] === 6);
  held.resolve(undefined);
  await mailer[Symbol.asyncDispose]();
  expect([server.attempts(), await counted()]).toEqual([0, { failed: 6 }]);
});
