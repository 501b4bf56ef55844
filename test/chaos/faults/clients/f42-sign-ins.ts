import { headerRequest, parseBlockAt } from '../../../../services/evaluator/chain/blocks/block.ts';
import { connectRpc } from '../../../../services/evaluator/chain/rpc/connect-rpc.ts';
import { askWallet } from '../../../../services/evaluator/chain/wallets/ask-wallet.ts';
import { aMessage, aSignIn, SIGNER } from '../../../support/builders/a-sign-in.ts';
import { makeCheckClient } from '../../../support/systems/check-client.ts';
import type { Fault, Scene } from '../../fault.ts';
import { atLeast, begunIn, resultTimes, type Span, timesBaseline } from '../../judges/measure.ts';
import { startFlood } from '../../load/flood.ts';
import { allowSignIns, createApp } from '../../system/create-app.ts';
import { rewindRedis } from '../../system/rewind-redis.ts';

const PARALLEL = 50;
const SIGN_INS_WHILE_AWAY = 40;
const NONCES_LOST = 20;
/** Signatures of a wallet that is a contract, each of which needs a call. */
const FLOOD_PER_SECOND = 500;
const FLOOD_SECONDS = 5;
/** Spans with signatures and spans without, in turn: at a full CPU a single span's p99 is chance. */
const FLOODS = 2;
const NONCES_AT_ONCE = 50;
/** How much slower the checks of others may be, as beside any large client (F39). */
const OTHERS_MAX = 2;
const CHAIN = 31_337;
const NODE_MS_MAX = 10_000;
const SIGNATURE = `0x${'11'.repeat(65)}`;
const ANY = [{ type: 'NATIVE', chainId: CHAIN, roleId: 'any', minToken: '0', maxToken: '1' }];

/** A span beside a flood of checks. */
type Beside = { readonly span: Span; readonly perSecond: number };
type Answer = { readonly status: number; readonly code: string; readonly roles: readonly unknown[] };

/**
 * Sign-ins under load: one nonce in many hands, a flood of signatures that all need a call, the
 * wallet's chain away, and nonces whose use Redis has lost. A token's contract stands for a wallet
 * that is a contract: it does not accept any signature.
 */
export const f42SignIns: Fault = {
  id: 'F42',
  title:
    'one nonce in 50 requests; a flood of signatures that need a call; sign-ins while the chain is away; nonces whose use is lost',
  async run(scene) {
    const { system, ledger, rest } = scene;
    const app = await createApp(system, 'Sign-in');
    await allowSignIns(system, app.clientId);
    let turn = 0;
    const nextClient = () => {
      turn += 1;
      const { url } = system.gateways[turn % system.gateways.length] ?? { url: '' };
      return makeCheckClient({ url, apiKey: app.apiKey });
    };
    const nonce = async (): Promise<string> => String(await nextClient().nonce());
    const ask = async (used: string, account: string, mode: object = {}): Promise<Answer> => {
      const { message } = await aSignIn({ nonce: used, address: account, chainId: CHAIN });
      const signature = await SIGNER.signMessage(message);
      const signIn = [{ message, signature }];
      const { status, body } = await nextClient().check({ account, rules: ANY, signIn, ...mode });
      return { status, code: body.errors?.[0]?.code ?? body.code ?? '', roles: body.roles ?? [] };
    };
    const many = <T>(count: number, make: () => Promise<T>) =>
      Promise.all(Array.from({ length: count }, make));

    const shared = await nonce();
    const race = await many(PARALLEL, () => ask(shared, SIGNER.address, { async: true }));
    const accepted = race.filter(({ status }) => status === 202).length;

    const wallet = system.chain.erc20;
    const nonces: string[] = [];
    while (nonces.length < FLOOD_PER_SECOND * FLOOD_SECONDS * FLOODS)
      nonces.push(...(await many(NONCES_AT_ONCE, nonce)));
    const baseline = await rest(FLOOD_SECONDS * 1_000);
    const beside = async (bodyOf: () => object): Promise<Beside> => {
      let sent = 0;
      const endFlood = await startFlood(
        scene,
        FLOOD_PER_SECOND,
        (count) => {
          sent = count + 1;
          return { account: wallet, rules: ANY, ...bodyOf() };
        },
        app,
      );
      const span = await rest(FLOOD_SECONDS * 1_000);
      await endFlood();
      return { span, perSecond: sent / FLOOD_SECONDS };
    };
    const askNode = await nodeCaller(scene);
    const plain: Beside[] = [];
    const flood: Beside[] = [];
    while (flood.length < FLOODS) {
      plain.push(
        await beside(() => {
          askNode(wallet);
          return {};
        }),
      );
      flood.push(
        await beside(() => {
          const message = aMessage({ nonce: nonces.pop() ?? '', address: wallet, chainId: CHAIN });
          return { signIn: [{ message, signature: SIGNATURE }] };
        }),
      );
    }

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
    const checksIn = (spans: readonly Pick<Beside, 'span'>[]) =>
      spans.flatMap(({ span }) => begunIn(ledger.attempts, span));
    const timesIn = (spans: readonly Pick<Beside, 'span'>[]) => resultTimes(checksIn(spans));
    return () => ({
      figures: [
        figure('accepted with one nonce', accepted, 1),
        atLeast(
          'signatures that need a call',
          Math.min(...flood.map(({ perSecond }) => perSecond)),
          0.8 * FLOOD_PER_SECOND,
          '/s',
        ),
        timesBaseline("others' p99 beside them", timesIn(flood), timesIn([{ span: baseline }]), OTHERS_MAX),
        timesBaseline(
          "others' p99 beside them, against as many checks without and as many calls at the node",
          timesIn(flood),
          timesIn(plain),
          OTHERS_MAX,
        ),
        figure('unread while the chain was away', unread, SIGN_INS_WHILE_AWAY),
        figure('refused whose use was lost', refusedAgain, NONCES_LOST),
      ],
      broken: [
        ...(checksIn(flood).some(({ code }) => code === 'overloaded')
          ? ['a check of another client was refused beside them']
          : []),
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

/** Asks the node about a signature, as the evaluators do and by the same way: what the node and the
 * harness need for it is then in both spans that are compared. */
async function nodeCaller({ system, scope }: Scene): Promise<(wallet: string) => void> {
  const url = system.chains.main[0]?.url ?? '';
  const rpc = scope.use(connectRpc({ url, headers: {}, timeoutMs: NODE_MS_MAX }));
  const { signal } = new AbortController();
  const number = Number(await rpc.call({ method: 'eth_blockNumber', params: '[]' }, signal));
  const block = parseBlockAt(number, await rpc.call(headerRequest(number), signal));
  const how = { method: 'reader', pin: 'hash', source: 'evm', fromBlock: 0 } as const;
  return (wallet) => {
    const question = { wallet: wallet.slice(2), hash: '00'.repeat(32), signature: SIGNATURE.slice(2) };
    void askWallet({ use: (_, send) => send(rpc) }, block, question, how, signal).catch(() => undefined);
  };
}
