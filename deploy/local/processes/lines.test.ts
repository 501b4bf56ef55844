import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { makeLineFormat, makeLines, wantsColour } from './lines.ts';

const A_LINE = JSON.stringify({
  level: 'warn',
  time: '2026-11-21T10:00:00.123Z',
  service: 'gateway',
  pid: 1,
  error: 'no broker',
  msg: 'kafka client',
});

test('a line of the logger is shown as time, level, message and fields, on one line', () => {
  expect(makeLineFormat(false)(A_LINE)).toBe('[10:00:00.123] WARN: kafka client {"error":"no broker"}');
});

test('a line that is not JSON is shown as it is', () => {
  const format = makeLineFormat(false);
  expect(format('gateway cannot start: HTTP_PORT: below 0')).toBe('gateway cannot start: HTTP_PORT: below 0');
  expect(format('{ not json')).toBe('{ not json');
});

test('every line of a process carries its name', async () => {
  const output = new PassThrough();
  const lines = makeLines({ output, colour: false, nameChars: 10 });
  const input = Readable.from(['one\ntw', 'o\n']);
  lines.follow('gateway', input, null);
  await once(input, 'close');
  expect(String(output.read())).toBe('gateway    one\ngateway    two\n');
});

test('colours need a terminal, and NO_COLOR turns them off', () => {
  expect(wantsColour({ isTTY: true }, {})).toBe(true);
  expect(wantsColour({}, {})).toBe(false);
  expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false);
  expect(wantsColour({ isTTY: true }, { NO_COLOR: '' })).toBe(true);
});

test('without colours no escape sequence is written', () => {
  const output = new PassThrough();
  makeLines({ output, colour: false, nameChars: 3 }).say('up');
  expect(String(output.read())).not.toContain('\u001b');
});

test('for a reader that is too slow, lines are dropped and not kept in memory, and a line says so', async () => {
  const taken: string[] = [];
  const gate = Promise.withResolvers<void>();
  const output = new Writable({
    write(chunk, _, done) {
      taken.push(String(chunk));
      void gate.promise.then(() => done());
    },
  });
  const lines = makeLines({ output, colour: false, nameChars: 1 });
  for (let i = 0; i < 20; i++) lines.say('x'.repeat(100_000));
  expect(output.writableLength).toBeLessThan(1_200_000);
  gate.resolve();
  await once(output, 'drain');
  lines.say('after');
  output.end();
  await once(output, 'finish');
  expect(taken.at(-2)).toBe('(9 lines were dropped: the reader is too slow)\n');
  expect(taken.at(-1)).toContain('after');
});
