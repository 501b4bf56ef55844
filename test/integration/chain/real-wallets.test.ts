import {
  AbiCoder,
  Contract,
  concat,
  getCreate2Address,
  hashMessage,
  Interface,
  keccak256,
  solidityPacked,
  toBeHex,
  toUtf8Bytes,
  Wallet,
  ZeroAddress,
} from 'ethers';
import { SIGNER } from '../../support/builders/a-sign-in.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: wallets that are contracts sign a message before and after they are deployed: a Safe of
// two owners from its published contracts, and accounts of OpenZeppelin and Solady, which sign by
// ERC-7739.

const SAFE = '@safe-global/safe-contracts/build/artifacts/contracts';
const ARTIFACTS = [
  `${SAFE}/Safe.sol/Safe.json`,
  `${SAFE}/proxies/SafeProxyFactory.sol/SafeProxyFactory.json`,
  `${SAFE}/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json`,
];
const CHAIN = 31_337;
const TEXT = 'a text whose grammar was judged before';
const HASH = hashMessage(TEXT);
const SUFFIX = `0x${'6492'.repeat(16)}`;
const OTHER = new Wallet(`0x${'22'.repeat(32)}`);

type RealWallet = {
  readonly address: string;
  readonly factory: string;
  /** The calldata by which the factory deploys it. */
  readonly creation: string;
  /** What it accepts, and what comes from too few or other keys. */
  readonly enough: string;
  readonly tooFew: string;
};

let deployer: ReturnType<typeof startDeployer>;
beforeAll(() => {
  deployer = startDeployer(infrastructure().rpcUrl, {
    sources: ['real-wallets.sol'],
    artifacts: ARTIFACTS,
  });
});
afterAll(() => deployer?.close());

const calldata = (contract: string, method: string, args: readonly unknown[]): string =>
  new Interface(deployer.abiOf(contract)).encodeFunctionData(method, args);
const contractAt = (contract: string, address: string) =>
  new Contract(address, deployer.abiOf(contract), deployer.provider);

async function aSafe(): Promise<RealWallet> {
  const owners = [SIGNER, OTHER].sort((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1));
  const singleton = await deployer.deploy('Safe');
  const handler = await deployer.deploy('CompatibilityFallbackHandler');
  const factory = await deployer.deploy('SafeProxyFactory');
  const addresses = owners.map(({ address }) => address);
  const none = [ZeroAddress, 0, ZeroAddress];
  const setup = calldata('Safe', 'setup', [addresses, 2, ZeroAddress, '0x', handler, ...none]);
  const proxyCode = await contractAt('SafeProxyFactory', factory).getFunction('proxyCreationCode')();
  const salt = keccak256(solidityPacked(['bytes32', 'uint256'], [keccak256(setup), 7]));
  const address = getCreate2Address(factory, salt, keccak256(concat([proxyCode, toBeHex(singleton, 32)])));
  // Each owner signs the Safe's own hash of the message.
  const signedBy = async (...signers: readonly Wallet[]) => {
    const domain = { chainId: CHAIN, verifyingContract: address };
    const types = { SafeMessage: [{ name: 'message', type: 'bytes' }] };
    return concat(
      await Promise.all(signers.map((owner) => owner.signTypedData(domain, types, { message: HASH }))),
    );
  };
  return {
    address,
    factory,
    creation: calldata('SafeProxyFactory', 'createProxyWithNonce', [singleton, setup, 7]),
    enough: await signedBy(...owners),
    tooFew: await signedBy(SIGNER),
  };
}

/** The signature of a message for an account by ERC-7739. */
async function personalSign(name: string, address: string, signer: Wallet): Promise<string> {
  const domain = { name, version: '1', chainId: CHAIN, verifyingContract: address };
  const prefix = `\x19Ethereum Signed Message:\n${TEXT.length}`;
  const prefixed = toUtf8Bytes(prefix + TEXT);
  return signer.signTypedData(domain, { PersonalSign: [{ name: 'prefixed', type: 'bytes' }] }, { prefixed });
}

async function anAccount(library: 'OpenZeppelin' | 'Solady'): Promise<RealWallet> {
  const [name, factoryName] = [`${library}Account`, `${library}Factory`];
  const isSolady = library === 'Solady';
  const factory = await deployer.deploy(factoryName, ...(isSolady ? [await deployer.deploy(name)] : []));
  // Solady's salt begins with the owner.
  const argument = isSolady ? SIGNER.address + '00'.repeat(12) : SIGNER.address;
  const address: string = await contractAt(factoryName, factory)
    .getFunction('createAccount')
    .staticCall(argument);
  return {
    address,
    factory,
    creation: calldata(factoryName, 'createAccount', [argument]),
    enough: await personalSign(name, address, SIGNER),
    tooFew: await personalSign(name, address, OTHER),
  };
}

const wrapped = ({ factory, creation }: RealWallet, signature: string): string =>
  concat([
    AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [factory, creation, signature]),
    SUFFIX,
  ]);

async function outcomeOf({ address }: RealWallet, signature: string): Promise<string> {
  // A connection of its own, which knows no head from before the deployment.
  await using chains = connectTestChains([{ urls: [infrastructure().rpcUrl] }]);
  const { signIn, errors } = await chains.judge({
    account: address,
    rules: [{ type: 'NATIVE', chainId: CHAIN, roleId: 'any', minToken: '0', maxToken: '1' }],
    signIn: {
      domain: 'shop.example',
      nonce: '0'.repeat(58),
      wallets: [{ account: address, chainId: CHAIN, hash: HASH, signature }],
    },
  });
  return signIn ? 'proved' : (errors[0]?.code ?? '');
}

const REFUSED = 'sign-in-refused';
test.each<[string, () => Promise<RealWallet>, string]>([
  ['a Safe', aSafe, REFUSED],
  ['an account of OpenZeppelin', () => anAccount('OpenZeppelin'), REFUSED],
  // Where its nested forms do not fit, it wants more gas than a block has, and uses up all of less.
  ['an account of Solady', () => anAccount('Solady'), 'sign-in-unread'],
])(
  '%s is proved by the signatures that it asks for, before and after it is deployed',
  async (_name, make, otherwise) => {
    const wallet = await make();
    expect(await outcomeOf(wallet, wallet.enough)).toBe(REFUSED);
    expect(await outcomeOf(wallet, wrapped(wallet, wallet.enough))).toBe('proved');
    expect(await outcomeOf(wallet, wrapped(wallet, wallet.tooFew))).toBe(otherwise);
    const signer = await deployer.provider.getSigner(0);
    await (await signer.sendTransaction({ to: wallet.factory, data: wallet.creation })).wait();
    expect(await deployer.provider.getCode(wallet.address)).not.toBe('0x');
    expect(await outcomeOf(wallet, wallet.enough)).toBe('proved');
    expect(await outcomeOf(wallet, wrapped(wallet, wallet.enough))).toBe('proved');
    expect(await outcomeOf(wallet, wallet.tooFew)).toBe(otherwise);
    // A signature of an owner over the message itself is none of the wallet.
    expect(await outcomeOf(wallet, await SIGNER.signMessage(TEXT))).toBe(otherwise);
  },
);
