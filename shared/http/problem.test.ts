import { validationFailed } from './problem.ts';

const account = { pointer: '/account', code: 'required', detail: '/account is required.' };
const rules = { pointer: '/rules', code: 'required', detail: '/rules is required.' };

test.each([
  [[account], '/account is required.'],
  [[account, rules], 'The request has 2 faults; the first: /account is required.'],
])('names a fault in the detail, which logs often keep alone: %j', (errors, detail) => {
  expect(validationFailed(errors)).toMatchObject({ message: detail, members: { errors } });
});
