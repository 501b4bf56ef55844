import { anAppWithKey } from '../../../test/support/fakes/fake-gateway.ts';
import { makeNoteKeyUse } from './note-key-use.ts';

const app = anAppWithKey();

describe('the last use of a key', () => {
  it('is written at most once a minute for each key', () => {
    let nowMs = 0;
    const written: string[] = [];
    const noteKeyUse = makeNoteKeyUse({
      note: async (clientId, keyId, atMs) => void written.push(`${clientId} ${keyId} ${atMs}`),
      now: () => nowMs,
    });
    for (nowMs = 0; nowMs <= 60_000; nowMs += 1_000) noteKeyUse({ app, keyId: 'key_1' });
    noteKeyUse({ app, keyId: 'key_2' });
    expect(written).toEqual(['app_1 key_1 0', 'app_1 key_1 60000', 'app_1 key_2 61000']);
  });

  it('is written again after a failure, which is not reported', async () => {
    let calls = 0;
    const noteKeyUse = makeNoteKeyUse({
      note: () => {
        calls += 1;
        return Promise.reject(new Error('away'));
      },
      now: () => 0,
    });
    noteKeyUse({ app, keyId: 'key_1' });
    await new Promise((resolve) => setImmediate(resolve));
    noteKeyUse({ app, keyId: 'key_1' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toBe(2);
  });
});
