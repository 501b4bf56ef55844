import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckResult, UNDETERMINED } from '#shared/contracts/checks/result.ts';
import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { ALL_TOPICS, SOURCE_TOPICS } from '#shared/contracts/topics.ts';

// A published message must be readable for as long as it is kept. From 1.0.0 on golden files are
// never changed: each tells what that release wrote.

const GOLDEN = join(__dirname, 'golden');
const files = readdirSync(GOLDEN);
const golden = (file: string): string => readFileSync(join(GOLDEN, file), 'utf8');
const topicOf = (file: string) => SOURCE_TOPICS.find(({ name }) => `${name}.json` === file) as Topic<unknown>;

test('every topic has a golden message', () => {
  expect([...files].sort()).toEqual(SOURCE_TOPICS.map(({ name }) => `${name}.json`).sort());
});

test.each(files)('%s is read and written again without a change', (file) => {
  expect(parseMessage(topicOf(file), golden(file))).toEqual(JSON.parse(golden(file)));
});

test.each(files)('%s is read with a member that a newer version added', (file) => {
  const newer = JSON.stringify({ ...JSON.parse(golden(file)), addedLater: { any: 'thing' } });
  expect(() => parseMessage(topicOf(file), newer)).not.toThrow();
});

test.each(files)(
  '%s without its first member is unreadable, and the error repeats none of its values',
  (file) => {
    const [first = '', ...rest] = Object.entries(JSON.parse(golden(file)) as Record<string, unknown>).map(
      ([k]) => k,
    );
    expect(rest.length).toBeGreaterThan(2);
    const { [first]: removed, ...broken } = JSON.parse(golden(file)) as Record<string, unknown>;
    const read = () => parseMessage(topicOf(file), JSON.stringify(broken));
    expect(read).toThrow(expect.objectContaining({ code: 'message-unreadable' }));
    expect(read).toThrow(expect.not.objectContaining({ message: expect.stringContaining(String(removed)) }));
  },
);

const watchKeysOf = (message: Record<string, unknown>): string[] => {
  const { clientId, watchId, watchUid, memberId, account, delivery } = message;
  return [
    `${account}`,
    `${clientId}/${watchId}`,
    `${watchUid}/${memberId}`,
    `${(delivery as { partition?: number } | undefined)?.partition}`,
  ];
};

test('the key of a message is the id by which its consumers deduplicate', () => {
  for (const file of files) {
    const topic = topicOf(file);
    const message = JSON.parse(golden(file)) as Record<string, string>;
    const ids = [
      message['requestId'],
      message['clientId'],
      message['accountId'],
      `${message['clientId']}/${message['hour']}`,
      `${message['clientId']}/${message['id']}`,
      `${message['requestId']}/${message['part']}`,
      ...watchKeysOf(message),
    ];
    expect(ids).toContain(topic.keyOf(message));
  }
});

test.each(['check.completed.v1.json', 'webhook.requested.v1.json'])(
  'the result of a check in %s has the documented shape',
  (file) => {
    const { resultJson } = JSON.parse(golden(file)) as { resultJson: string };
    const result = CheckResult.strict().parse(JSON.parse(resultJson));
    for (const fault of result.errors) expect(fault.retryable).toBe(UNDETERMINED[fault.code].retryable);
  },
);

test('every topic has a dead-letter topic with room for twice its largest message', () => {
  for (const topic of SOURCE_TOPICS) {
    const letters = ALL_TOPICS.find(({ name }) => name === `${topic.name}.dead-letter`);
    expect(letters).toMatchObject({ partitionCount: 3, messageBytesMax: 2 * topic.messageBytesMax });
  }
});
