import { parseNotice } from './results.ts';

test('a notice is an id, or an id with its result', () => {
  expect(parseNotice('r1')).toEqual({ requestId: 'r1' });
  expect(parseNotice('r1 {"roles":["a b"]}')).toEqual({ requestId: 'r1', resultJson: '{"roles":["a b"]}' });
});
