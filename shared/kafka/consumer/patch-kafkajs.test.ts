import { createRequire } from 'node:module';
import { patchKafkajs } from './patch-kafkajs.ts';

const ConsumerGroup = createRequire(__filename)('kafkajs/src/consumer/consumerGroup') as {
  prototype: { fetch: (this: object, nodeId: string) => Promise<unknown> };
};
patchKafkajs();

const load = createRequire(__filename);
const Authenticator = load('kafkajs/src/broker/saslAuthenticator') as {
  prototype: { authenticate: (this: object) => Promise<void> };
};
const { KafkaJSSASLAuthenticationError } = load('kafkajs/src/errors') as {
  KafkaJSSASLAuthenticationError: new (message: string) => Error;
};

test.each([
  ['that the broker refused', () => new KafkaJSSASLAuthenticationError('the token expired'), []],
  ['without a token', () => new Error('the token expired'), ['the token expired']],
])(
  'a login %s may be tried again on a new connection, and its reason is logged once',
  async (_, makeError, logged) => {
    const said: string[] = [];
    let isOpen = true;
    const attempt = Authenticator.prototype.authenticate.call({
      logger: { error: (message: string) => said.push(message) },
      connection: {
        sasl: { mechanism: 'oauthbearer' },
        send: () => Promise.reject(makeError()),
        disconnect: async () => {
          isOpen = false;
        },
      },
      saslHandshake: () => ({}),
    });
    await expect(attempt).rejects.toMatchObject({ message: 'the token expired', retriable: true });
    expect({ isOpen, said }).toEqual({ isOpen: false, said: logged });
  },
);

/** A consumer without a broker: its fetch fails, and the group is notified, once the wait is
 * decided. */
const aGroup = (maxWaitTime: number, paused: readonly unknown[]) => ({
  maxWaitTime,
  paused: () => paused,
  cluster: { refreshMetadataIfNecessary: () => Promise.reject(new Error('away')) },
  recoverFromFetch: () => Promise.resolve(),
});

async function waitsOf(group: ReturnType<typeof aGroup>, steps: readonly (readonly unknown[])[]) {
  const waits = [];
  for (const paused of steps) {
    group.paused = () => paused;
    await ConsumerGroup.prototype.fetch.call(group, '1');
    waits.push(group.maxWaitTime);
  }
  return waits;
}

const A_PARTITION = [{ topic: 'a', partitions: [0] }];

test('a fetch waits briefly while a partition is paused, and afterwards as long as before', async () => {
  expect(await waitsOf(aGroup(1_000, []), [[], A_PARTITION, A_PARTITION, []])).toEqual([
    1_000, 100, 100, 1_000,
  ]);
});

test('a paused partition makes no wait longer than the configured one', async () => {
  expect(await waitsOf(aGroup(50, []), [A_PARTITION, []])).toEqual([50, 50]);
});
