import { aSignIn, SIGNER } from '../../../support/builders/a-sign-in.ts';
import type { Fault } from '../../fault.ts';
import { allowSignIns, createApp } from '../../system/create-app.ts';
import { rewindRedis } from '../../system/rewind-redis.ts';

const PARALLEL = 50;
const SIGN_INS_WHILE_AWAY = 40;
const NONCES_LOST = 20;
const CHAIN = 31_337;
const ANY = [{ type: 'NATIVE', chainId: CHAIN, roleId: 'any', minToken: '0', maxToken: '1' }];

type Answer = { readonly status: number; readonly code: string; readonly roles: readonly unknown[] };

/**
 * Sign-ins under load: one nonce in many hands, the wallet's chain away, and nonces whose use
 * Redis has lost. A token's contract stands for a wallet that is a contract: it does not accept any
 * signature.
 */
export const f42SignIns: Fault = {
  id: 'F42',
  title: 'one nonce in 50 requests; sign-ins while the chain is away; nonces whose use is lost',
  async run({ system, rest }) {
    const app = await createApp(system, 'Sign-in');
    await allowSignIns(system, app.clientId);
    let turn = 0;
    const post = async (
      path: string,
      body?: unknown,
    ): Promise<Record<string, unknown> & { status: number }> => {
      turn += 1;
      const { url } = system.gateways[turn % system.gateways.length] ?? { url: '' };
      const response = await fetch(`${url}/access-control/${path}`, {
        method: 'POST',
        headers: {
          'x-api-key': app.apiKey,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      return { ...answer, status: response.status };
    };
    const nonce = async (): Promise<string> => String((await post('nonces'))['nonce']);
    const ask = async (used: string, account: string, mode: object = {}): Promise<Answer> => {
      const { message } = await aSignIn({ nonce: used, address: account, chainId: CHAIN });
      const signature = await SIGNER.signMessage(message);
      const answer = await post('check-roles', {
        account,
        rules: ANY,
        signIn: [{ message, signature }],
        ...mode,
      });
      const [entry] = (answer['errors'] ?? []) as readonly { readonly code?: string }[];
      return {
        status: answer.status,
        code: entry?.code ?? String(answer['code'] ?? ''),
        roles: (answer['roles'] ?? []) as readonly unknown[],
      };
    };
    const many = <T>(count: number, make: () => Promise<T>) =>
      Promise.all(Array.from({ length: count }, make));

    const shared = await nonce();
    const race = await many(PARALLEL, () => ask(shared, SIGNER.address, { async: true }));
    const accepted = race.filter(({ status }) => status === 202).length;

    const wallet = system.chain.erc20;
    const present = await ask(await nonce(), wallet);
    for (const proxy of system.chains.main) await proxy.setFault('refuse');
    const away = await many(SIGN_INS_WHILE_AWAY, async () => ask(await nonce(), wallet));
    for (const proxy of system.chains.main) await proxy.setFault('none');

    const lost: string[] = [];
    const used: Answer[] = [];
    await rewindRedis({ system, rest }, async () => {
      lost.push(...(await many(NONCES_LOST, nonce)));
      for (const one of lost) used.push(await ask(one, SIGNER.address, { async: true }));
    });
    const again = await Promise.all(lost.map((one) => ask(one, SIGNER.address, { async: true })));
    const afterwards = await ask(await nonce(), SIGNER.address, { async: true });

    const figure = (what: string, measured: number, goal: number) => ({
      what,
      measured: String(measured),
      goal: `exactly ${goal}`,
      met: measured === goal,
    });
    const refusedAgain = again.filter(
      ({ status, code }) => status === 403 && code === 'sign-in-refused',
    ).length;
    const unread = away.filter(({ status, code }) => status === 503 && code === 'sign-in-unread').length;
    const withRoles = [present, ...away].filter(({ roles }) => roles.length > 0).length;
    return () => ({
      figures: [
        figure('accepted with one nonce', accepted, 1),
        figure('unread while the chain was away', unread, SIGN_INS_WHILE_AWAY),
        figure('refused whose use was lost', refusedAgain, NONCES_LOST),
      ],
      broken: [
        ...(accepted === 1 ? [] : [`${accepted} requests were accepted with one nonce`]),
        ...([403, 503].includes(present.status)
          ? []
          : [`a wallet that accepts nothing was answered ${present.status}`]),
        ...(withRoles === 0 ? [] : [`${withRoles} wallets that are not proved got roles`]),
        ...(away.some(({ status }) => status === 403) ? ['a chain that was away became a refusal'] : []),
        ...(used.every(({ status }) => status === 202) ? [] : ['not every nonce was used before the loss']),
        ...(again.some(({ status }) => status === 202) ? ['a nonce whose use was lost was used again'] : []),
        ...(afterwards.status === 202 ? [] : [`a fresh nonce was answered ${afterwards.status}`]),
      ],
    });
  },
};
