import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Dependencies } from '../dependencies.ts';
import { startCheck } from './accept-check.ts';

const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

test('nothing of a check is kept while its result is waited for', async () => {
  const result = Promise.withResolvers<string | undefined>();
  const deps = {
    syncDeadlineMs: 60_000,
    waiters: { wait: () => ({ result: result.promise, cancel: () => undefined }) },
    publishCheck: async () => undefined,
  } as unknown as Dependencies;
  const start = async () => {
    const check = { isAsync: false, rules: [{ name: 'a label' }] };
    const toStart = {
      check,
      admitted: { kind: 'fresh' },
      arrivedAt: 0,
      deadlineAtMs: 0,
      onWait: () => undefined,
    };
    const waiting = await startCheck(deps, toStart as unknown as Parameters<typeof startCheck>[1]);
    return { waiting, kept: [new WeakRef(check), new WeakRef(check.rules)] };
  };
  const { waiting, kept } = await start();
  await waitUntil('the check to be collected', async () => {
    collectGarbage();
    return kept.every((ref) => ref.deref() === undefined);
  });
  result.resolve(undefined);
  expect(await waiting?.result).toBeUndefined();
});
