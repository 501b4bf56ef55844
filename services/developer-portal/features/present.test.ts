import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Role } from '../domain/permissions.ts';
import { OPERATIONS } from '../http/operations.ts';
import { allowedOperations } from './present.ts';

const refusedFor = (role: Role): string[] => {
  const allowed = allowedOperations(role);
  return allowedOperations('owner').filter((id) => !allowed.includes(id));
};

test('a viewer reads and leaves, a developer changes all but the team, an admin all but deleting the app', () => {
  const MANAGING = ['renameApp', 'createInvitation', 'withdrawInvitation', 'setMemberRole', 'removeMember'];
  expect(refusedFor('admin')).toEqual(['deleteApp']);
  expect(refusedFor('developer').sort()).toEqual([...MANAGING, 'deleteApp'].sort());
  const writes = allowedOperations('viewer').filter((id) => OPERATIONS[id].method !== 'get');
  expect(writes).toEqual(['leaveApp']);
});

test('an owner may use every operation on an app, and the list names no other operation', () => {
  const ofApp = Object.entries(OPERATIONS).filter(([, { path }]) => path.startsWith('/api/apps/:clientId'));
  expect(allowedOperations('owner')).toEqual(ofApp.map(([id]) => id));
});

test('every operation that a page asks about exists, and some role may not use it', () => {
  const folder = join(__dirname, '../page/features');
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const asked = pages
    .flatMap((text) => [...text.matchAll(/\bmay\('(\w+)'\)/g), ...text.matchAll(/\bneeds: '(\w+)'/g)])
    .map(([, id]) => id);
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((id) => !(refusedFor('viewer') as (string | undefined)[]).includes(id))).toEqual([]);
});
