import {
  AbiCoder,
  Contract,
  ContractFactory,
  concat,
  getCreate2Address,
  hashMessage,
  Interface,
  type InterfaceAbi,
  keccak256,
  solidityPacked,
  toBeHex,
  Wallet,
  ZeroAddress,
} from 'ethers';
import { SIGNER } from '../../support/builders/a-sign-in.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: a Safe of two owners, from its published contracts, signs a message before and after it
// is deployed.

type Artifact = { readonly abi: InterfaceAbi; readonly bytecode: string };
const artifactOf = (path: string): Artifact =>
  require(`@safe-global/safe-contracts/build/artifacts/contracts/${path}.json`);
const SAFE = artifactOf('Safe.sol/Safe');
const FACTORY = artifactOf('proxies/SafeProxyFactory.sol/SafeProxyFactory');
const HANDLER = artifactOf('handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler');

const CHAIN = 31_337;
const HASH = hashMessage('a text whose grammar was judged before');
const SUFFIX = `0x${'6492'.repeat(16)}`;
const OWNERS = [SIGNER, new Wallet(`0x${'22'.repeat(32)}`)].sort((a, b) =>
  a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
);

let deployer: ReturnType<typeof startDeployer>;
let factory: Contract;
let creation: string;
let safe: string;

beforeAll(async () => {
  const { rpcUrl } = infrastructure();
  deployer = startDeployer(rpcUrl);
  const signer = await deployer.provider.getSigner(0);
  const deploy = async ({ abi, bytecode }: Artifact) => {
    const made = await new ContractFactory(abi, bytecode, signer).deploy();
    await made.waitForDeployment();
    return made.getAddress();
  };
  const [singleton, handler] = [await deploy(SAFE), await deploy(HANDLER)];
  factory = new Contract(await deploy(FACTORY), FACTORY.abi, signer);
  const addresses = OWNERS.map(({ address }) => address);
  const setup = new Interface(SAFE.abi).encodeFunctionData('setup', [
    addresses,
    2,
    ZeroAddress,
    '0x',
    handler,
    ZeroAddress,
    0,
    ZeroAddress,
  ]);
  const proxyCode: string = await factory.getFunction('proxyCreationCode').staticCall();
  const salt = keccak256(solidityPacked(['bytes32', 'uint256'], [keccak256(setup), 7]));
  const code = concat([proxyCode, toBeHex(singleton, 32)]);
  safe = getCreate2Address(await factory.getAddress(), salt, keccak256(code));
  creation = factory.interface.encodeFunctionData('createProxyWithNonce', [singleton, setup, 7]);
});
afterAll(() => deployer?.close());

/** The signatures of owners over the Safe's own hash of the message. */
async function signedBy(...owners: readonly Wallet[]): Promise<string> {
  const domain = { chainId: CHAIN, verifyingContract: safe };
  const types = { SafeMessage: [{ name: 'message', type: 'bytes' }] };
  return concat(
    await Promise.all(owners.map((owner) => owner.signTypedData(domain, types, { message: HASH }))),
  );
}

async function wrapped(signature: string): Promise<string> {
  const parts = [await factory.getAddress(), creation, signature];
  return concat([AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], parts), SUFFIX]);
}

async function outcomeOf(signature: string): Promise<string> {
  // A connection of its own, which knows no head from before the deployment.
  await using chains = connectTestChains([{ urls: [infrastructure().rpcUrl] }]);
  const { signIn, errors } = await chains.judge({
    account: safe,
    rules: [{ type: 'NATIVE', chainId: CHAIN, roleId: 'any', minToken: '0', maxToken: '1' }],
    signIn: {
      domain: 'shop.example',
      nonce: '0'.repeat(58),
      wallets: [{ account: safe, chainId: CHAIN, hash: HASH, signature }],
    },
  });
  return signIn ? 'proved' : (errors[0]?.code ?? '');
}

test('a Safe is proved by the signatures that its threshold asks for, before and after it is deployed', async () => {
  const enough = await signedBy(...OWNERS);
  const tooFew = await signedBy(SIGNER);
  expect(await outcomeOf(enough)).toBe('sign-in-refused');
  expect(await outcomeOf(await wrapped(enough))).toBe('proved');
  expect(await outcomeOf(await wrapped(tooFew))).toBe('sign-in-refused');
  const sent = await (await deployer.provider.getSigner(0)).sendTransaction({
    to: await factory.getAddress(),
    data: creation,
  });
  await sent.wait();
  expect(await deployer.provider.getCode(safe)).not.toBe('0x');
  expect(await outcomeOf(enough)).toBe('proved');
  expect(await outcomeOf(await wrapped(enough))).toBe('proved');
  expect(await outcomeOf(tooFew)).toBe('sign-in-refused');
  expect(await outcomeOf(await SIGNER.signMessage('a text whose grammar was judged before'))).toBe(
    'sign-in-refused',
  );
});
