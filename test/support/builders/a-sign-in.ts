import { HDNodeWallet, Wallet } from 'ethers';

/** A wallet whose key is known to everybody. */
export const SIGNER = new Wallet(`0x${'11'.repeat(32)}`);

/** The wallets of every local chain, by their addresses in lower case. */
const LOCAL_WALLETS = new Map(
  [1, 2].map((index) => {
    const phrase = `${'test '.repeat(11)}junk`;
    const { privateKey, address } = HDNodeWallet.fromPhrase(phrase, '', `m/44'/60'/0'/0/${index}`);
    return [address.toLowerCase(), new Wallet(privateKey)];
  }),
);

/** The wallet of the holder or the stranger of a local chain. */
export function localWallet(account: string): Wallet {
  const wallet = LOCAL_WALLETS.get(account.toLowerCase());
  if (wallet === undefined) throw new RangeError(`${account} is not known`);
  return wallet;
}

export type MessageFields = {
  readonly domain?: string;
  readonly address?: string;
  readonly statement?: string;
  readonly chainId?: number;
  readonly nonce: string;
  readonly issuedAt?: string;
  /** Lines behind the last required one. */
  readonly more?: readonly string[];
};

/** The text of a message of EIP-4361. */
export const aMessage = ({
  domain = 'shop.example',
  address = SIGNER.address,
  statement = 'Sign in.',
  chainId = 1,
  nonce,
  issuedAt = new Date().toISOString(),
  more = [],
}: MessageFields): string =>
  [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    statement,
    '',
    'URI: https://shop.example/login',
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...more,
  ].join('\n');

/** An entry of `signIn`, signed by the key of the wallet itself. */
export async function aSignIn(
  fields: MessageFields,
  signer: Wallet = SIGNER,
): Promise<{ readonly message: string; readonly signature: string }> {
  const message = aMessage({ address: signer.address, ...fields });
  return { message, signature: await signer.signMessage(message) };
}
