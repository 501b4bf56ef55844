import { AbiCoder, concat, hashMessage, Interface, Signature, type Wallet } from 'ethers';
import type { CheckResult } from '#shared/contracts/checks/result.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { SIGNER } from '../../support/builders/a-sign-in.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import { deployCode } from '../../support/contracts/hostile-contracts.ts';
import { startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: wallets of every kind on a real chain sign a message, good ones and hostile ones. A
// signature is proved, refused or unread, never one for another, and says nothing about an endpoint.

const CHAIN = 31_337;
const OTHER_CHAIN = 31_338;
const MESSAGE = 'a text whose grammar was judged before';
const HASH = hashMessage(MESSAGE);
const SUFFIX = `0x${'6492'.repeat(16)}`;
const SALT = `0x${'ab'.repeat(32)}`;
const MAGIC = `1626ba7e${'0'.repeat(56)}`;

let rpcUrl: string;
let deployer: ReturnType<typeof startDeployer>;
let own: string;
const address: Record<string, string> = {};

/** The code of a contract that answers every call with some bytes. */
const answering = (hex: string): string => {
  const words = hex.match(/.{1,64}/g) ?? [];
  const stores = words.map(
    (word, index) => `7f${word.padEnd(64, '0')}60${(32 * index).toString(16).padStart(2, '0')}52`,
  );
  return `${stores.join('')}60${(hex.length / 2).toString(16).padStart(2, '0')}6000f3`;
};

beforeAll(async () => {
  rpcUrl = infrastructure().rpcUrl;
  deployer = startDeployer(rpcUrl);
  own = await SIGNER.signMessage(MESSAGE);
  address['factory'] = await deployer.deploy('WalletFactory');
  address['owned'] = await deployer.deploy('OwnedWallet', SIGNER.address);
  address['open'] = await deployer.deploy('OpenWallet');
  address['swallows'] = await deployer.deploy('SwallowingWallet');
  const codes: Record<string, string> = {
    provesAll: answering(MAGIC),
    provesAllAtLength: answering(`${MAGIC}${'0'.repeat(64)}`),
    provesAllShortly: answering('1626ba7e'),
    dirty: answering(`${MAGIC.slice(0, -1)}1`),
    returnsTrue: answering(`${'0'.repeat(63)}1`),
    returnsNothing: '00',
    bomb: '6001600052620100006000f3',
    reverts: '60206000fd',
    revertsEmpty: '60006000fd',
    loops: '5b600056',
    invalid: 'fe',
  };
  for (const [name, code] of Object.entries(codes)) address[name] = await deployCode(rpcUrl, code);
});
afterAll(() => deployer.close());

const addressOf = (name: string): string => address[name] ?? name;
const connect = (settings: object = {}) => connectTestChains([{ urls: [rpcUrl], ...settings }]);
type Chains = ReturnType<typeof connect>;

type Signed = readonly [wallet: string, signature: string];

const signInOf = (...entries: readonly Signed[]) => ({
  domain: 'shop.example',
  nonce: '0'.repeat(58),
  wallets: entries.map(([account, signature]) => ({
    account,
    chainId: CHAIN,
    hash: HASH,
    signature: signature.toLowerCase(),
  })),
});

/** Checks a native balance that everybody holds, for wallets and their signatures. */
async function signIn(chains: Chains, ...entries: readonly Signed[]) {
  const accounts = entries.map(([wallet]) => wallet);
  return chains.judge({
    account: accounts[0] ?? '',
    accounts,
    rules: [{ type: 'NATIVE', chainId: CHAIN, roleId: 'any', minToken: '0', maxToken: '1000000' }],
    signIn: signInOf(...entries),
  });
}

/** `proved`, or the code of the only error with whether another try may help. */
function outcomeOf({ status, roles, errors, signIn: proved, details }: CheckResult): string {
  if (proved !== undefined) {
    expect([status, errors, roles.length]).toEqual(['completed', [], 1]);
    return 'proved';
  }
  expect([status, roles, errors.length, details]).toEqual(['failed', [], 1, undefined]);
  const [{ code, retryable } = { code: '', retryable: false }] = errors;
  return retryable ? `${code}, retryable` : code;
}

const judge = async (wallet: string, signature: string, chains?: Chains): Promise<string> => {
  await using own = chains ? undefined : connect();
  return outcomeOf(await signIn(chains ?? (own as Chains), [addressOf(wallet), signature]));
};

/** A signature of ERC-6492. */
const wrapped = (target: string, data: string, signature: string): string =>
  concat([
    AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [addressOf(target), data, signature]),
    SUFFIX,
  ]);
const callOf = (contract: string, method: string, ...args: unknown[]): string =>
  new Interface(deployer.abiOf(contract)).encodeFunctionData(method, args);

describe('the key of an account', () => {
  it('proves it in every form of the signature, without a call', async () => {
    await using chains = connect();
    const { r, s, yParity, compactSerialized } = Signature.from(own);
    for (const signature of [own, concat([r, s, `0x0${yParity}`]), compactSerialized])
      expect(await judge(SIGNER.address, signature, chains)).toBe('proved');
    expect(chains.parkedCount()).toBe(0);
  });

  it.each<[string, (signature: Signature) => string]>([
    ['s in the upper half', ({ r, s, yParity }) => concat([r, upper(s), `0x${(28 - yParity).toString(16)}`])],
    ['s in the upper half, in compact form', ({ r, s }) => concat([r, upper(s)])],
    ['v of EIP-155', ({ r, s, yParity }) => concat([r, s, `0x${(37 + yParity).toString(16)}`])],
    ['v of 29', ({ r, s }) => concat([r, s, '0x1d'])],
    ['the other v', ({ r, s, yParity }) => concat([r, s, `0x${(28 - yParity).toString(16)}`])],
    ['r of zero', ({ s }) => concat([`0x${'00'.repeat(32)}`, s, '0x1b'])],
    ['no bytes', () => '0x'],
    ['66 bytes', ({ serialized }) => `${serialized}00`],
  ])('does not prove it with %s: there is no contract to ask', async (_, signatureOf) => {
    expect(await judge(SIGNER.address, signatureOf(Signature.from(own)))).toBe('sign-in-refused');
  });

  it('proves no other account, and not by a suffix', async () => {
    expect(await judge(`0x${'77'.repeat(20)}`, own)).toBe('sign-in-refused');
    expect(await judge(SIGNER.address, wrapped(`0x${'00'.repeat(20)}`, '0x', own))).toBe('sign-in-refused');
    expect(await judge('0x0000000000000000000000000000000000000001', own)).toBe('sign-in-refused');
  });

  it('proves it where the account has code (EIP-7702)', async () => {
    const delegated: Wallet = SIGNER;
    await callJsonRpc(rpcUrl, 'anvil_setCode', [
      delegated.address,
      `0xef0100${addressOf('reverts').slice(2)}`,
    ]);
    expect(await judge(delegated.address, own)).toBe('proved');
    await callJsonRpc(rpcUrl, 'anvil_setCode', [delegated.address, '0x']);
  });
});

describe('the contract of a wallet (ERC-1271)', () => {
  it('proves it by the word of the standard alone', async () => {
    expect(await judge('owned', own)).toBe('proved');
    expect(await judge('provesAll', '0x')).toBe('proved');
  });

  it.each([
    'provesAllAtLength',
    'provesAllShortly',
    'dirty',
    'returnsTrue',
    'returnsNothing',
    'bomb',
    'reverts',
    'revertsEmpty',
  ])('refuses by another answer or a revert: %s', async (name) => {
    expect(await judge(name, own)).toBe('sign-in-refused');
  });

  it('refuses a signature of another key', async () => {
    const { r, s, yParity } = Signature.from(own);
    expect(await judge('owned', concat([r, s, `0x${(28 - yParity).toString(16)}`]))).toBe('sign-in-refused');
  });

  it.each(['loops', 'invalid', 'swallows'])(
    'is unread if it uses up its gas, and not retryable: %s',
    async (name) => {
      expect(await judge(name, own)).toBe('sign-in-unread');
    },
  );

  it('is asked at the newest head, whose block is reported where no rule names the chain', async () => {
    await using other = await startRpcFaultProxy({ target: rpcUrl, chainId: OTHER_CHAIN });
    await using chains = connectTestChains([{ urls: [rpcUrl] }, { chainId: OTHER_CHAIN, urls: [other.url] }]);
    const rules = [{ type: 'NATIVE', chainId: OTHER_CHAIN, roleId: 'any', minToken: '1' }] as const;
    const signIn = signInOf([addressOf('owned'), own]);
    const past = { blockTag: 'latest', minBlock: {}, atBlock: { [OTHER_CHAIN]: 0 } } as const;
    const { blocks } = await chains.judge({
      account: addressOf('owned'),
      rules,
      signIn,
      consistency: past,
    });
    const head = await deployer.provider.getBlockNumber();
    expect(Object.keys(blocks)).toEqual([String(CHAIN), String(OTHER_CHAIN)]);
    expect(blocks[OTHER_CHAIN]?.number).toBe(0);
    expect(blocks[CHAIN]).toMatchObject({ proved: true, number: head });
    const byKey = await chains.judge({
      account: SIGNER.address,
      rules,
      signIn: signInOf([SIGNER.address, own]),
    });
    expect(Object.keys(byKey.blocks)).toEqual([String(OTHER_CHAIN)]);
  });
});

describe('a wallet that is not deployed (ERC-6492)', () => {
  let wallet: string;
  beforeAll(async () => {
    const [found] = new Interface(deployer.abiOf('WalletFactory')).decodeFunctionResult(
      'addressOf',
      await deployer.provider.call({
        to: addressOf('factory'),
        data: callOf('WalletFactory', 'addressOf', SIGNER.address, SALT),
      }),
    );
    wallet = found as string;
  });
  const deploying = () => callOf('WalletFactory', 'deploy', SIGNER.address, SALT);

  it('is proved behind the call that deploys it, which leaves nothing on the chain', async () => {
    expect(await judge(wallet, wrapped('factory', deploying(), own))).toBe('proved');
    expect(await deployer.provider.getCode(wallet)).toBe('0x');
    expect(await judge(wallet, own)).toBe('sign-in-refused');
  });

  it('is refused if the factory fails, or deploys something else', async () => {
    expect(await judge(wallet, wrapped('factory', callOf('WalletFactory', 'fail'), own))).toBe(
      'sign-in-refused',
    );
    const other = callOf('WalletFactory', 'deploy', SIGNER.address, `0x${'cd'.repeat(32)}`);
    expect(await judge(wallet, wrapped('factory', other, own))).toBe('sign-in-refused');
    const stranger = callOf('WalletFactory', 'deploy', `0x${'77'.repeat(20)}`, SALT);
    expect(await judge(wallet, wrapped('factory', stranger, own))).toBe('sign-in-refused');
  });

  it('is unread, and not retryable, if the factory uses all gas', async () => {
    const burn = callOf('WalletFactory', 'burn');
    expect(await judge(wallet, wrapped('factory', burn, own))).toBe('sign-in-unread');
    expect(await judge(wallet, wrapped('invalid', '0x', own))).toBe('sign-in-unread');
  });

  it('is refused if what stands before the suffix is not encoded as the standard has it', async () => {
    expect(await judge(wallet, SUFFIX)).toBe('sign-in-refused');
    expect(await judge(wallet, concat([`0x${'ff'.repeat(200)}`, SUFFIX]))).toBe('sign-in-refused');
    expect(await judge('provesAll', concat([own, SUFFIX]))).toBe('sign-in-refused');
  });

  it('is asked by its inner signature once it is deployed, whatever the suffix says', async () => {
    expect(await judge('owned', wrapped('factory', callOf('WalletFactory', 'fail'), own))).toBe('proved');
  });

  it('is proved behind a call to itself that prepares it: each account that may make the call is proved', async () => {
    const prepare = callOf('OpenWallet', 'initialise', SIGNER.address);
    expect(await judge('open', own)).toBe('sign-in-refused');
    expect(await judge('open', wrapped('open', prepare, own))).toBe('proved');
    expect(await judge('open', own)).toBe('sign-in-refused');
  });
});

describe('several wallets', () => {
  it('are proved together, or none is', async () => {
    await using chains = connect();
    const both = await signIn(chains, [SIGNER.address, own], [addressOf('owned'), own]);
    expect(both.signIn).toEqual([
      { account: SIGNER.address, outcome: 'proved' },
      { account: addressOf('owned'), outcome: 'proved' },
    ]);
    const one = await signIn(
      chains,
      [SIGNER.address, own],
      [addressOf('loops'), own],
      [addressOf('reverts'), own],
    );
    expect(one).toMatchObject({
      status: 'failed',
      roles: [],
      errors: [{ code: 'sign-in-refused', account: addressOf('reverts') }],
    });
  });
});

describe('endpoints', () => {
  it.each(['reset', 'http-503', 'http-429', 'rpc-error', 'malformed', 'unknown-block'] as const)(
    'that fail (%s) leave the wallet unread, retryable; a key needs none',
    async (kind) => {
      await using proxy = await startRpcFaultProxy({ target: rpcUrl });
      await using chains = connectTestChains([{ urls: [proxy.url] }], { evaluationMsMax: 3_000 });
      expect(await judge('owned', own, chains)).toBe('proved');
      await proxy.setFault(kind);
      expect(await judge('owned', own, chains)).toBe('sign-in-unread, retryable');
      const byKey = await signIn(chains, [SIGNER.address, own]);
      expect(byKey.signIn).toEqual([{ account: SIGNER.address, outcome: 'proved' }]);
    },
  );

  it('that disagree leave it unread where a quorum is asked for', async () => {
    await using liar = await startRpcFaultProxy({ target: rpcUrl });
    await using chains = connectTestChains([{ urls: [rpcUrl, liar.url], quorum: 2 }]);
    expect(await judge('owned', own, chains)).toBe('proved');
    expect(await judge('reverts', own, chains)).toBe('sign-in-refused');
  });

  it('without state overrides are asked in the same way', async () => {
    for (const kind of ['no-override', 'plain-calls-only', 'numbers-only'] as const) {
      await using proxy = await startRpcFaultProxy({ target: rpcUrl });
      await proxy.setFault(kind);
      await using chains = connectTestChains([{ urls: [proxy.url] }]);
      expect(await judge('owned', own, chains)).toBe('proved');
      expect(await judge('loops', own, chains)).toBe('sign-in-unread');
    }
  });

  it('are not blamed for a wallet that loops: reads of others go on', async () => {
    await using chains = connect();
    const hostile = Array.from({ length: 40 }, () => judge('loops', own, chains));
    const good = Array.from({ length: 40 }, () => judge(SIGNER.address, own, chains));
    expect(new Set(await Promise.all(good))).toEqual(new Set(['proved']));
    expect(new Set(await Promise.all(hostile))).toEqual(new Set(['sign-in-unread']));
    expect(chains.health.filter((line) => !line.includes('/up/'))).toEqual([]);
  });
});

/** The second signature of the same point. */
function upper(s: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  return `0x${(order - BigInt(s)).toString(16)}`;
}
