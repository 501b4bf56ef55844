import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import { type Fault, faultAt } from '#shared/contracts/fault.ts';
import { toChecksumAddress } from '#shared/contracts/rules/checksum-address.ts';
import {
  parseSignInMessage,
  SIGN_IN_MESSAGE_BYTES_MAX,
  type SignInMessage,
} from '#shared/contracts/sign-in/sign-in-message.ts';
import {
  SIGN_INS_MAX,
  SIGNATURE_BYTES_MAX,
  type SignInRequest,
} from '#shared/contracts/sign-in/sign-in-request.ts';
import { membersOf } from '#shared/rules/validate-body.ts';
import { type ChainIds, faultOfChain } from '#shared/rules/validate-rules.ts';
import type { CheckBody } from '../checks/check-body.ts';

/** One entry of `signIn` whose message follows the grammar. */
export type SoundSignIn = {
  readonly message: SignInMessage;
  readonly text: string;
  /** Lower case. */
  readonly signature: string;
};

const SIGNATURE = /^0x(?:[0-9a-fA-F]{2})*$/;

/**
 * Judges the texts of `signIn`, apart from whom, what app and what time they are for: that is
 * `refuseSignIn`.
 *
 * @returns every fault, and the chains that the messages name
 */
export function validateSignIn(
  body: unknown,
  broken: ReadonlySet<string>,
  chainIds: ChainIds,
): { readonly faults: readonly Fault[]; readonly signIns: readonly SoundSignIn[] | undefined } {
  const { signIn } = membersOf(body);
  if (!Array.isArray(signIn) || broken.has('/signIn') || signIn.length > SIGN_INS_MAX)
    return { faults: [], signIns: undefined };
  const faults: Fault[] = [];
  const sound: SoundSignIn[] = [];
  for (const [index, entry] of signIn.entries()) {
    const { message: text, signature } = membersOf(entry);
    const pointer = `/signIn/${index}`;
    const ofSignature = faultOfSignature(signature);
    if (ofSignature !== undefined)
      faults.push(faultAt(`${pointer}/signature`, ofSignature.code, ofSignature.detail));
    if (typeof text !== 'string') continue;
    const parsed = parseText(text);
    const fault = parsed.ok
      ? faultOfMessage(parsed.message, sound[0]?.message, chainIds)
      : malformed(parsed.fault);
    if (fault !== undefined) faults.push(faultAt(`${pointer}/message`, fault.code, fault.detail));
    if (parsed.ok && typeof signature === 'string')
      sound.push({ message: parsed.message, text, signature: signature.toLowerCase() });
  }
  return { faults, signIns: sound };
}

type TextFault = Pick<Fault, 'code' | 'detail'>;

const malformed = (detail: string): TextFault => ({ code: 'sign-in-malformed', detail });

function faultOfSignature(signature: unknown): TextFault | undefined {
  if (typeof signature !== 'string') return undefined;
  return SIGNATURE.test(signature) && signature.length <= 2 + 2 * SIGNATURE_BYTES_MAX
    ? undefined
    : malformed(`must be 0x and at most ${SIGNATURE_BYTES_MAX} bytes in hexadecimal`);
}

function parseText(text: string): ReturnType<typeof parseSignInMessage> {
  if (Buffer.byteLength(text) > SIGN_IN_MESSAGE_BYTES_MAX)
    return { ok: false, fault: `must have at most ${SIGN_IN_MESSAGE_BYTES_MAX} bytes` };
  return parseSignInMessage(text);
}

/** @param first the first message, whose domain and nonce all others must have */
function faultOfMessage(
  { address, chainId, domain, nonce }: SignInMessage,
  first: SignInMessage | undefined,
  chainIds: ChainIds,
): TextFault | undefined {
  const checksummed = toChecksumAddress(address);
  if (checksummed !== address) return malformed(`must have the address in its EIP-55 form, ${checksummed}`);
  const ofChain = faultOfChain(chainId, chainIds);
  if (ofChain !== undefined) return ofChain;
  if (first !== undefined && (domain !== first.domain || nonce !== first.nonce))
    return malformed('must have the domain and the nonce of the first message');
  return undefined;
}

/**
 * The sign-ins as the evaluator gets them.
 *
 * @param wallets as the client wrote them
 */
export function signInRequestOf(
  signIns: readonly SoundSignIn[],
  { account, accounts = account === undefined ? [] : [account] }: Pick<CheckBody, 'account' | 'accounts'>,
): SignInRequest | undefined {
  const [first] = signIns;
  if (first === undefined) return undefined;
  const written = new Map(accounts.map((wallet) => [wallet.toLowerCase(), wallet]));
  return {
    domain: first.message.domain,
    nonce: first.message.nonce,
    wallets: signIns.map(({ message: { address, chainId }, text, signature }) => ({
      account: written.get(address.toLowerCase()) ?? address,
      chainId,
      hash: hashOfMessage(text),
      signature,
    })),
  };
}

/** The hash of EIP-191 that `personal_sign` signs: `0x` and 64 hex digits. */
function hashOfMessage(text: string): string {
  const bytes = utf8ToBytes(text);
  const prefix = utf8ToBytes(`\x19Ethereum Signed Message:\n${bytes.length}`);
  return `0x${bytesToHex(keccak_256(Buffer.concat([prefix, bytes])))}`;
}
