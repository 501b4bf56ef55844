import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { ALL_TOPICS, SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { formatMarkdown } from '../../../../test/support/figures/format-markdown.ts';
import { resolveImport } from '../../../../test/support/judges/resolve-import.ts';
import { aclsOf, KAFKA_ACCESS, kafkaAclsCommand, SERVICES, type Service } from './kafka-access.ts';
import { REDIS_ACCESS, REDIS_COMMANDS, redisRulesOf, SHARED_KEYS } from './redis-access.ts';

// The rights of the services against their code, and the documents against the rights. Whether the
// rights suffice is shown on a broker and a Redis that refuse everything else
// (`test/integration/kafka/access.test.ts`).

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The text of every module that a service loads. */
function modulesOf(service: Service): string[] {
  const texts = new Map<string, string>();
  const open = [`services/${service}/main.ts`];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (texts.has(path)) continue;
    const text = read(path);
    texts.set(path, text);
    for (const [, target = ''] of text.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '([^']+)'/gm)) {
      const module = resolveImport(path, target);
      if (module.endsWith('.ts')) open.push(module);
    }
  }
  return [...texts.values()];
}

const modules = new Map(SERVICES.map((service) => [service, modulesOf(service)]));
const namesOf = (topics: readonly TopicSpec[]): string[] => topics.map(({ name }) => `\`${name}\``);
const cellOf = (parts: readonly string[]): string => parts.join(', ') || '–';

test('each consumer group belongs to one service, and none is missing', () => {
  const named = SERVICES.flatMap((service) => Object.keys(KAFKA_ACCESS[service].consumes));
  const all = Object.values(CONSUMER_GROUPS).flatMap((group) =>
    typeof group === 'string' ? [group] : Object.values(group),
  );
  expect(named.sort()).toEqual(all.sort());
});

test('each topic is written by a service, and consumed or read by one', () => {
  const all = SERVICES.map((service) => KAFKA_ACCESS[service]);
  const written = new Set(all.flatMap(({ writes }) => writes));
  const used = new Set(all.flatMap(({ consumes, reads }) => [...Object.values(consumes).flat(), ...reads]));
  expect(SOURCE_TOPICS.filter((topic) => !written.has(topic) || !used.has(topic))).toEqual([]);
});

test.each(SERVICES)('%s may use no topic that none of its modules names', (service) => {
  const { consumes, reads, writes } = KAFKA_ACCESS[service];
  const texts = modules.get(service) ?? [];
  const isDeclared = (name: string) =>
    texts.some((text) => text.includes(`name: '${name}'`) || text.includes('webhook.retry.'));
  const topics = [...Object.values(consumes).flat(), ...reads, ...writes];
  const names = topics.map(({ name }) => name);
  expect(names.filter((name) => !isDeclared(name))).toEqual([]);
});

test.each(SERVICES)('%s may use no key and no channel that none of its modules names', (service) => {
  const texts = modules.get(service) ?? [];
  const isNamed = (name: string) =>
    texts.some((text) => new RegExp(`['\`]${name.replace(/[:*].*/, '')}\\b`).test(text));
  const { keys, channels } = REDIS_ACCESS[service];
  expect([...keys, ...channels].filter((name) => !isNamed(name))).toEqual([]);
});

test('the commands of Redis are those that the code uses', () => {
  const texts = [...new Set([...modules.values()].flat())].join('\n');
  const inScripts = [...texts.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name = '']) =>
    name.toLowerCase(),
  );
  expect(inScripts.length).toBeGreaterThan(100);
  expect(inScripts.filter((name) => !(REDIS_COMMANDS as readonly string[]).includes(name))).toEqual([]);
  const isUsed = (name: string) =>
    // ioredis sends it for a URL with the number of a database.
    name === 'select' ||
    inScripts.includes(name) ||
    new RegExp(`\\b(?:redis|subscriber|pipeline)\\)?\\s*\\.${name}\\(|'${name}`, 'i').test(texts);
  expect(REDIS_COMMANDS.filter((name) => !isUsed(name))).toEqual([]);
});

test('a system’s prefix precedes every name, also where all are meant', () => {
  const commands = aclsOf('watcher', 'staging.').map((acl) => kafkaAclsCommand('watcher', acl));
  expect(commands[0]).toContain("--topic 'staging.' --resource-pattern-type prefixed");
  for (const [, name] of commands.join('\n').matchAll(/'([^']*)'/g)) expect(name).toMatch(/^staging\./);
  for (const rule of redisRulesOf('watcher', 'staging:')) expect(rule).toMatch(/^([~&]staging:|[+-]|reset)/);
  expect(aclsOf('watcher', '')[0]).toMatchObject({ names: ['*'], isPrefixed: false });
});

test('deploy/ACCESS.md tells what each service may use', () => {
  const document = read('deploy/ACCESS.md');
  const kafka = SERVICES.map((service) => {
    const { consumes, writes, reads } = KAFKA_ACCESS[service];
    const groups = Object.entries(consumes).map(
      ([group, topics]) => `${cellOf(namesOf(topics))} as \`${group}\``,
    );
    return [service, groups.join('; ') || '–', cellOf(namesOf(writes)), cellOf(namesOf(reads))];
  });
  expect(document).toContain(formatMarkdown(['service', 'consumes', 'writes', 'reads'], kafka));
  const codes = (names: readonly string[]) => cellOf(names.map((name) => `\`${name}\``));
  const redis = SERVICES.map((service) => [
    service,
    codes(REDIS_ACCESS[service].keys),
    codes(REDIS_ACCESS[service].channels),
  ]);
  expect(document).toContain(formatMarkdown(['service', 'keys', 'channels'], redis));
  const unwrapped = document.replace(/\s+/g, ' ');
  for (const names of [SHARED_KEYS, REDIS_COMMANDS]) expect(unwrapped).toContain(codes(names));
});

test('deploy/README.md counts topics, partitions and ACLs', () => {
  const text = read('deploy/README.md').replace(/\s+/g, ' ');
  const partitionsOf = (topics: readonly TopicSpec[]) =>
    topics.reduce((sum, { partitionCount }) => sum + partitionCount, 0);
  const all = partitionsOf(ALL_TOPICS);
  const compacted = partitionsOf(SOURCE_TOPICS.filter(({ cleanup }) => cleanup !== 'delete'));
  const acls = SERVICES.flatMap((service) => aclsOf(service, '')).reduce(
    (sum, { names, operations }) => sum + names.length * operations.length,
    0,
  );
  const words = [
    `${ALL_TOPICS.length} topics with ${all} partitions: ${SOURCE_TOPICS.length} with records (${partitionsOf(SOURCE_TOPICS)} partitions, ${compacted} of them compacted), and their dead-letter topics (${all - partitionsOf(SOURCE_TOPICS)}). With 3 replicas a cluster holds ${(3 * all).toLocaleString('en').replace(',', ' ')}.`,
    `${all} × 730 h × price | at 0.0015 USD (Amazon MSK Serverless, list price) ${Math.round((all * 730 * 0.0015) / 10) * 10} USD a month`,
    `| ${acls} |`,
  ];
  for (const each of words) expect(text).toContain(each);
});
