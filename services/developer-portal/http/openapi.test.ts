import { answerStatusOf } from '#shared/http/operation.ts';
import { PROBLEMS } from '#shared/http/problem.ts';
import { codesOf, makeOpenApi } from './openapi.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

type Described = {
  readonly operationId: string;
  readonly security: readonly object[];
  readonly responses: Readonly<Record<string, unknown>>;
};
const document = JSON.parse(JSON.stringify(makeOpenApi())) as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, unknown> };
};
const described = new Map(
  Object.values(document.paths).flatMap((path) =>
    Object.values(path).map((operation) => [operation.operationId, operation] as const),
  ),
);

test('every operation is described, with its answer and every problem that it may answer with', () => {
  expect([...described.keys()].sort()).toEqual(Object.keys(OPERATIONS).sort());
  for (const [id, operation] of Object.entries<Operation>(OPERATIONS)) {
    const statuses = new Set([
      answerStatusOf(operation),
      ...codesOf(operation).map((code) => PROBLEMS[code].status),
    ]);
    expect([id, Object.keys(described.get(id)?.responses ?? {}).sort()]).toEqual([
      id,
      [...statuses].map(String).sort(),
    ]);
  }
});

test('operations that need a session declare it, and every write declares `origin-refused`', () => {
  for (const [id, operation] of Object.entries<Operation>(OPERATIONS)) {
    expect([id, described.get(id)?.security.length]).toEqual([id, operation.access === 'public' ? 0 : 1]);
    expect([id, codesOf(operation).includes('origin-refused')]).toEqual([id, operation.method !== 'get']);
  }
});

test('every operation below /api/operator needs an operator, and no other does', () => {
  for (const { path, access } of Object.values<Operation>(OPERATIONS))
    expect([path, path.startsWith('/api/operator/')]).toEqual([path, access === 'operator']);
});

test('every reference leads to a schema', () => {
  const names = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name ?? '',
  );
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !(name in document.components.schemas))).toEqual([]);
});
