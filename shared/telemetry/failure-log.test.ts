import { makeFailureLog } from './failure-log.ts';
import type { Logger } from './log.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const aFailure = (instance: string) => ({
  instance,
  traceId: undefined,
  clientId: 'app_1',
  code: 'dependency-unavailable',
  cause: { code: 'store-unavailable', message: 'Redis did not answer in time' },
});

test('each failure is in the log, the first of a second in a line of its own', () => {
  const lines: { fields: object; message: string }[] = [];
  const warn = (fields: object, message: string) => void lines.push({ fields, message });
  const logFailure = makeFailureLog({ warn } as unknown as Pick<Logger, 'warn'>);
  const ids = Array.from({ length: 600 }, (_, i) => `r${i}`);
  for (const id of ids) logFailure(aFailure(id));
  expect(lines.map(({ message }) => message)).toEqual(['request failed', 'requests failed']);
  expect(lines[0]?.fields).toEqual(aFailure('r0'));
  jest.advanceTimersByTime(1_000);
  expect(lines).toHaveLength(3);
  const written = JSON.stringify(lines);
  for (const id of ids) expect(written.split(`"${id}"`)).toHaveLength(2);

  logFailure(aFailure('later'));
  expect(lines[3]).toEqual({ fields: aFailure('later'), message: 'request failed' });
  jest.advanceTimersByTime(5_000);
  expect(lines).toHaveLength(4);
});
