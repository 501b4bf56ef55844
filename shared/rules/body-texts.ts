import { z } from 'zod';
import { hasValidChecksum, isAddressText, ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { AMOUNT } from './amount.ts';

/** The texts of a request body, each with its own faults. */

export const ROLE_ID_LENGTH_MAX = 128;
const REF_LENGTH_MAX = 128;
const CALLBACK_URL_LENGTH_MAX = 2_048;
const LABEL_LENGTH_MAX = 256;

const ENS_NAME = /^[^\s:/.]+(\.[^\s:/.]+)+$/;
/** chain-agnostic.org, CAIP-10. */
const CAIP10 = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}:[-.%a-zA-Z0-9]{1,128}$/;

/** The fault of a text as a code and a detail (a predicate); `undefined` if it has none. */
type FaultOf = (text: string) => readonly [code: string, detail: string] | undefined;

const faultOfAddress: FaultOf = (text) => {
  if (!isAddressText(text)) {
    if (ENS_NAME.test(text) || CAIP10.test(text))
      return [
        'account-format-unsupported',
        'must be a plain address: ENS names and CAIP-10 ids are not resolved',
      ];
    return ['malformed', 'must be an address: 0x and 40 hexadecimal digits'];
  }
  if (!hasValidChecksum(text))
    return [
      'checksum-mismatch',
      'does not match its EIP-55 checksum; send it in lower case if you have no checksum',
    ];
  if (text === ZERO_ADDRESS) return ['zero-address', 'must not be the zero address'];
  return undefined;
};

/** A check of a member whose type is right; its code becomes the fault's code. */
const checked = (schema: z.ZodString, faultOf: FaultOf) =>
  schema.check(({ value: input, issues }) => {
    const fault = faultOf(input);
    if (fault) issues.push({ input, code: 'custom', message: fault[1], params: { code: fault[0] } });
  });

/** Compares the length in code points; counts them only if the length in UTF-16 units does not
 * decide. */
const isLongerThan = (text: string, max: number): boolean =>
  text.length > max && (text.length > 2 * max || [...text].length > max);

const faultOfText =
  (lengthMin: number, lengthMax: number): FaultOf =>
  (text) => {
    if (text.length < lengthMin) return ['too-short', `must have at least ${lengthMin} character`];
    if (isLongerThan(text, lengthMax)) return ['too-long', `must have at most ${lengthMax} characters`];
    if (!text.isWellFormed()) return ['lone-surrogate', 'must not hold half of a surrogate pair'];
    return undefined;
  };

/** A caller's own id for an entry of a batch or watch. */
const faultOfRef = faultOfText(0, REF_LENGTH_MAX);
export const Ref = checked(z.string(), faultOfRef).meta({
  maxLength: REF_LENGTH_MAX,
  description: 'Your id; the result contains it.',
  example: 'discord:42',
});
const faultOfRoleId = faultOfText(1, ROLE_ID_LENGTH_MAX);
const faultOfLabel = faultOfText(0, LABEL_LENGTH_MAX);
const faultOfCallbackUrl = faultOfText(0, CALLBACK_URL_LENGTH_MAX);
const faultOfAmount: FaultOf = (text) =>
  AMOUNT.test(text)
    ? undefined
    : [
        'malformed',
        'must be a decimal string such as "1500.5", of at most 78 digits before the point and 36 after it',
      ];

export const Label = checked(z.string(), faultOfLabel).meta({ maxLength: LABEL_LENGTH_MAX });

export const Address = checked(z.string(), faultOfAddress).meta({
  pattern: '^0x[0-9a-fA-F]{40}$',
  description: 'An address; mixed case must pass EIP-55. Not the zero address.',
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
});

export const Amount = checked(z.string(), faultOfAmount).meta({
  pattern: AMOUNT.source,
  description: 'Whole tokens as decimal text.',
  example: '1500.5',
});

export const Factor = checked(z.string(), faultOfAmount).meta({ pattern: AMOUNT.source });

/** Of tokens that cannot be divided. Its digits are checked as those of any amount; `validateRule`
 * refuses a fraction. */
export const WholeAmount = checked(z.string(), faultOfAmount).meta({
  pattern: '^(0|[1-9][0-9]{0,77})$',
  description: 'Whole tokens as decimal text.',
  example: '3',
});

export const RoleId = checked(z.string(), faultOfRoleId).meta({
  minLength: 1,
  maxLength: ROLE_ID_LENGTH_MAX,
  description: 'Several rules may name one role: it is held if any of them is granted.',
});

export const CallbackUrl = checked(z.string(), faultOfCallbackUrl).meta({
  maxLength: CALLBACK_URL_LENGTH_MAX,
});
