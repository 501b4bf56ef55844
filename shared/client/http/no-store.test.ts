import { Rolecall } from '../rolecall.ts';
import { verifyProof } from '../verify/verify-proof.ts';
import { noStore } from './no-store.ts';

const known = globalThis.Request;
afterEach(() => {
  globalThis.Request = known;
});
/** A runtime whose `Request` is this one. */
const runIn = (request: unknown): void => {
  globalThis.Request = request as typeof Request;
};

describe('a runtime', () => {
  test('that knows the option of fetch gets it', () => {
    expect(noStore()).toEqual({ cache: 'no-store' });
  });

  test.each([
    ['that has no Request', undefined],
    ['whose Request ignores the option', class {}],
    [
      'whose Request throws for the option, though it has the member',
      class {
        readonly cache = 'default';
        constructor(_url: string, init: object) {
          if ('cache' in init)
            throw new TypeError("The 'cache' field on 'RequestInitializerDict' is not implemented.");
        }
      },
    ],
  ])('%s does not get it', (_name, request) => {
    runIn(request);
    expect(noStore()).toEqual({});
  });
});

/** A `fetch` as a framework has it that keeps the answers to GETs. */
function keepingFetch(bodies: readonly object[]): typeof fetch {
  const kept = new Map<string, string>();
  let requests = 0;
  return async (url, init) => {
    const key = String(url);
    const text =
      (init?.cache === 'no-store' ? undefined : kept.get(key)) ?? JSON.stringify(bodies[requests++]);
    kept.set(key, text);
    return new Response(text, { headers: { 'content-type': 'application/json' } });
  };
}

test('a changed rule set is read as it is, under a fetch that keeps answers', async () => {
  const fetch = keepingFetch([{ version: 1 }, { version: 2 }]);
  const { ruleSets } = new Rolecall({ baseUrl: 'https://api.example', apiKey: 'rck_live_x', fetch });
  expect(await ruleSets.get('vip')).toEqual({ version: 1 });
  expect(await ruleSets.get('vip')).toEqual({ version: 2 });
});

test('a check works in a runtime that does not know the option', async () => {
  runIn(undefined);
  const inits: RequestInit[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    inits.push(init ?? {});
    return Response.json({ chains: [] });
  };
  const rolecall = new Rolecall({ baseUrl: 'https://api.example', apiKey: 'rck_live_x', fetch });
  expect(await rolecall.chains()).toEqual([]);
  expect(inits.map((init) => 'cache' in init)).toEqual([false]);
});

test('the keys of proofs are read with the option too', async () => {
  const inits: RequestInit[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    inits.push(init ?? {});
    return Response.json({ keys: [] });
  };
  const header = Buffer.from('{"alg":"EdDSA","typ":"rolecall-verdict+jwt","kid":"k"}').toString('base64url');
  const work = verifyProof(`${header}.e30.AAAA`, {
    jwks: 'https://no-store.example/jwks',
    audience: 'app_1',
    fetch,
  });
  await expect(work).rejects.toMatchObject({ code: 'proof-key-unknown' });
  expect(inits).toMatchObject([{ cache: 'no-store' }]);
});
