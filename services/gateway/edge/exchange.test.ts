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
  const held: [number, boolean][] = [];
  noteHold(response, (...answer) => {
    held.push(answer);
    return hasRoom;
  });
  return { response, written, held };
}

const LARGE = 'x'.repeat(20_000);

test('a large answer counts until it has been read, and is refused where the share is used up', () => {
  const [first, second] = [anAnswer('GET', true), anAnswer('GET', false)];
  send(first.response, 200, 'text/plain', LARGE);
  expect([first.written, first.held]).toEqual([[LARGE], [[20_000, false]]]);
  expect(() => send(second.response, 200, 'text/plain', LARGE)).toThrow(Problem);
  expect(second.written).toEqual([]);
});

test.each(['POST', 'PUT', 'PATCH'])(
  'a large answer to %s counts too, and takes the place of others',
  (method) => {
    const { response, written, held } = anAnswer(method, true);
    send(response, 200, 'text/plain', LARGE);
    expect([written, held]).toEqual([[LARGE], [[20_000, true]]]);
  },
);

test('a small answer is sent in any case', () => {
  const { response, written, held } = anAnswer('GET', false);
  send(response, 200, 'text/plain', 'x');
  expect([written, held]).toEqual([['x'], []]);
});
