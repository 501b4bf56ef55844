import { nextState } from './consumer-state.ts';

test('allows the transitions of the table', () => {
  expect(nextState('joining', 'consuming')).toBe('consuming');
  expect(nextState('settling', 'catching-up')).toBe('catching-up');
});

test('refuses every transition out of a stop, and settling before a join', () => {
  expect(() => nextState('stopping', 'consuming')).toThrow('cannot go from stopping to consuming');
  expect(() => nextState('joining', 'settling')).toThrow('cannot go from joining to settling');
});
