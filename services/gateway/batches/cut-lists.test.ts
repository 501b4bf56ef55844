import fc from 'fast-check';
import { cutLists, splitElements } from './cut-lists.ts';

const giveWay = () => undefined;
const cut = async (text: string) => {
  const { rest, lists } = await cutLists(Buffer.from(text), ['entries', 'add'], giveWay);
  return { rest: rest.toString(), lists: new Map([...lists].map(([name, list]) => [name, `${list}`])) };
};
const spaced = (value: unknown) => JSON.stringify(value, undefined, 1);

test('an object without its lists, and the elements of its lists, have the values of the whole', async () => {
  const lists = { entries: fc.option(fc.array(fc.jsonValue())), add: fc.option(fc.array(fc.jsonValue())) };
  const objects = fc.record({ 'a"[{\\': fc.jsonValue(), ...lists, last: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(objects, fc.constantFrom(JSON.stringify, spaced), async (value, write) => {
      const { rest, lists } = await cutLists(Buffer.from(write(value)), ['entries', 'add'], giveWay);
      const parsed = JSON.parse(rest.toString());
      for (const [name, list] of lists) {
        expect(parsed[name]).toEqual([]);
        const elements = list.toString().trim() === '' ? [] : [...splitElements(list)];
        parsed[name] = elements.map((element) => JSON.parse(element.toString()));
      }
      expect(parsed).toEqual(JSON.parse(JSON.stringify(value)));
      expect([...lists.keys()]).toEqual(
        (['entries', 'add'] as const).filter((name) => Array.isArray(value[name])),
      );
    }),
  );
});

test('the last of two lists of one name counts, and an inner one is none', async () => {
  expect(await cut('{"entries":[1],"entries":[2],"b":{"add":[3]}}')).toEqual({
    rest: '{"entries":[],"entries":[],"b":{"add":[3]}}',
    lists: new Map([['entries', '2']]),
  });
});

test('a text that is no JSON is none without its lists, or has an element that is none', async () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const pieces = fc.constantFrom('{', '}', '[', ']', ',', ':', '"entries"', '"', '\\', '1', 'a', ' ');
  const texts = fc.array(pieces, { maxLength: 12 }).map((list) => `{"entries":[${list.join('')}`);
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const { rest, lists } = await cutLists(Buffer.from(text), ['entries'], giveWay);
      const list = lists.get('entries');
      const elements = list === undefined || `${list}`.trim() === '' ? [] : [...splitElements(list)];
      // A list that another one of its name replaces is not looked at.
      fc.pre(text.split('"entries"').length === 2);
      expect(isJson(rest.toString()) && elements.every((element) => isJson(`${element}`))).toBe(isJson(text));
    }),
    { numRuns: 2_000 },
  );
});
