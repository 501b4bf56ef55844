import { ServiceError } from '#shared/errors.ts';
import { persist } from './persist.ts';

const { signal } = new AbortController();

test('what waits for a store that is away shows that it lives, try by try', async () => {
  let tries = 0;
  let signs = 0;
  const work = async () => {
    tries += 1;
    if (tries < 3) throw new ServiceError('store-unavailable', 'away');
  };
  await persist(work, { signal, alive: () => void signs++ });
  expect({ tries, signs }).toEqual({ tries: 3, signs: 2 });
});

test('what cannot succeed later is not tried again', async () => {
  const work = async () => {
    throw new ServiceError('message-too-large', 'no');
  };
  await expect(persist(work, { signal, alive: () => undefined })).rejects.toThrow('no');
});
