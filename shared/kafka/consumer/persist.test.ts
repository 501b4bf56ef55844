import { ServiceError } from '#shared/errors.ts';
import { persist } from './persist.ts';

const { signal } = new AbortController();

test('reports liveness at every try while the store is unavailable', async () => {
  let tries = 0;
  let signs = 0;
  const work = async () => {
    tries += 1;
    if (tries < 3) throw new ServiceError('store-unavailable', 'away');
  };
  await persist(work, { signal, alive: () => void signs++ });
  expect({ tries, signs }).toEqual({ tries: 3, signs: 2 });
});

test('does not repeat an error that is not retriable', async () => {
  const work = async () => {
    throw new ServiceError('message-too-large', 'no');
  };
  await expect(persist(work, { signal, alive: () => undefined })).rejects.toThrow('no');
});
