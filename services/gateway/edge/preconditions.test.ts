import { meetsPreconditions, parseEntityTags } from './preconditions.ts';

test.each<[string, readonly string[] | undefined]>([
  ['"3"', ['"3"']],
  [' "3" , W/"4" ', ['"3"', 'W/"4"']],
  ['*', ['*']],
  ['3', undefined],
  ['"3', undefined],
  ['"3" "4"', undefined],
  ['', undefined],
])('reads the header %j as %j', (header, tags) => {
  expect(parseEntityTags(header)).toEqual(tags);
});

test.each<[object, number | undefined, boolean]>([
  [{}, undefined, true],
  [{ ifMatch: ['"3"'] }, 3, true],
  [{ ifMatch: ['"3"', '"4"'] }, 4, true],
  [{ ifMatch: ['"3"'] }, 4, false],
  [{ ifMatch: ['"3"'] }, undefined, false],
  [{ ifMatch: ['W/"3"'] }, 3, false],
  [{ ifMatch: ['*'] }, 3, true],
  [{ ifMatch: ['*'] }, undefined, false],
  [{ ifNoneMatch: ['*'] }, undefined, true],
  [{ ifNoneMatch: ['*'] }, 3, false],
  [{ ifNoneMatch: ['W/"3"'] }, 3, false],
  [{ ifNoneMatch: ['"3"'] }, 4, true],
])('%j with version %s: may continue %s', (preconditions, version, mayGoOn) => {
  expect(meetsPreconditions(preconditions, version)).toBe(mayGoOn);
});
