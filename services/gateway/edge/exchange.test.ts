import { Problem } from '#shared/http/problem.ts';
import { noteHold, type Response, send } from './exchange.ts';

/** An answer of which it is noted whether it was written. */
function anAnswer(method: string, hasRoom: boolean) {
  const written: string[] = [];
  const response = {
    ...{ locals: {}, req: { method } },
    writeHead: () => response,
    end: (body: string) => written.push(body),
  } as unknown as Response;
  const held: number[] = [];
  noteHold(response, (bytes) => {
    held.push(bytes);
    return hasRoom;
  });
  return { response, written, held };
}

const LARGE = 'x'.repeat(20_000);

test('a large answer to a read counts until it has been read, and is refused where the share is used up', () => {
  const [first, second] = [anAnswer('GET', true), anAnswer('GET', false)];
  send(first.response, 200, 'text/plain', LARGE);
  expect([first.written, first.held]).toEqual([[LARGE], [20_000]]);
  expect(() => send(second.response, 200, 'text/plain', LARGE)).toThrow(Problem);
  expect(second.written).toEqual([]);
});

test.each([
  ['a small answer', 'GET', 'x'],
  ['the answer to a change', 'PUT', LARGE],
])('%s is sent in any case', (_, method, body) => {
  const { response, written, held } = anAnswer(method, false);
  send(response, 200, 'text/plain', body);
  expect([written, held]).toEqual([[body], []]);
});
