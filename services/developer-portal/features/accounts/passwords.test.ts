import { makePasswords } from './passwords.ts';

const passwords = makePasswords();
const ADDRESS = '192.0.2.1';

test('verify accepts the same password in any Unicode normalization form, and refuses another password', async () => {
  const stored = await passwords.hash('cafe\u0301 correct horse', ADDRESS);
  expect(await passwords.verify('caf\u00e9 correct horse', stored, ADDRESS)).toBe(true);
  expect(await passwords.verify('cafe correct horse', stored, ADDRESS)).toBe(false);
});

test('the same password is stored differently each time, in the form of a PHC string', async () => {
  const hash = () => passwords.hash('correct horse', ADDRESS);
  const [one, other] = await Promise.all([hash(), hash()]);
  expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(one).not.toBe(other);
});

test('a password with another cost is stored with it, and verified by a process with the usual cost', async () => {
  const stored = await makePasswords({ ln: 10 }).hash('correct horse', ADDRESS);
  expect(stored).toMatch(/^\$scrypt\$ln=10,r=8,p=3\$/);
  expect(await passwords.verify('correct horse', stored, ADDRESS)).toBe(true);
});

test.each([undefined, '', 'plain', '$scrypt$ln=40,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$x'])(
  'nothing matches a malformed stored password: %p',
  async (stored) => {
    expect(await passwords.verify('', stored, ADDRESS)).toBe(false);
  },
);

test('passwords beyond the queue bound are refused, and all others are answered', async () => {
  const { verify } = makePasswords({ waitingMax: 2 });
  const all = await Promise.allSettled(Array.from({ length: 7 }, () => verify('x', undefined, ADDRESS)));
  const refused = all.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused).toHaveLength(3);
  expect(refused[0]?.reason).toMatchObject({ code: 'overloaded' });
});
