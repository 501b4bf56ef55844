import { Pool } from './pool.ts';

function aPool(sizeMax: number, borrowersMax: number) {
  const ended: number[] = [];
  const start = jest.fn(async (place: number) => ({
    place,
    [Symbol.asyncDispose]: async () => void ended.push(place),
  }));
  return { pool: new Pool({ start, sizeMax, borrowersMax }), start, ended };
}

test('starts an item for each borrower up to its size, and gives a returned one to who waits', async () => {
  const { pool, start } = aPool(2, 4);
  expect((await pool.borrow('a')).place).toBe(1);
  expect((await pool.borrow('b')).place).toBe(2);
  const third = pool.borrow('c');
  pool.return('b');
  expect((await third).place).toBe(2);
  pool.return('a');
  expect((await pool.borrow('d')).place).toBe(1);
  expect(start).toHaveBeenCalledTimes(2);
});

test('ends an item that no borrower will need, and the rest at its own end', async () => {
  const { pool, ended } = aPool(2, 2);
  await Promise.all([pool.borrow('a'), pool.borrow('b')]);
  pool.return('a');
  await Promise.resolve();
  expect(ended).toEqual([1]);
  await pool[Symbol.asyncDispose]();
  expect(ended).toEqual([1, 2]);
});

test('takes back what a borrower that crashed has not returned', async () => {
  const { pool, start } = aPool(1, 2);
  await pool.borrow('a');
  expect((await pool.borrow('a')).place).toBe(1);
  expect(start).toHaveBeenCalledTimes(1);
});
