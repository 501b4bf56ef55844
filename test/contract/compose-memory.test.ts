import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DEPLOY } from '../support/judges/monitoring-files.ts';

type Service = {
  readonly command?: readonly string[];
  readonly deploy: { readonly resources: { readonly limits: { readonly memory: string } } };
};

const MIB_OF_UNIT: Readonly<Record<string, number>> = { mb: 1, m: 1, gb: 1024, g: 1024 };
const mibOf = (text = ''): number => {
  const [, count, unit = ''] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  return Number(count) * (MIB_OF_UNIT[unit] ?? NaN);
};

test("Redis in a container leaves 40 % of the container's memory for the rewrite of its log", () => {
  const text = readFileSync(join(DEPLOY, '..', 'docker-compose.yml'), 'utf8');
  const { redis } = (parse(text, { merge: true }) as { services: { redis: Service } }).services;
  const { command = [], deploy } = redis;
  const maxmemory = mibOf(command[command.indexOf('--maxmemory') + 1]);
  expect(maxmemory / mibOf(deploy.resources.limits.memory)).toBeLessThanOrEqual(0.6);
});
