import { z } from 'zod';
import { describedBy } from '#shared/contracts/fault.ts';
import { hasValidChecksum, isAddressText, ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { parseTokenIds, TOKEN_IDS_MAX } from '#shared/contracts/rules/token-ids.ts';
import { parseViewFunction } from '#shared/contracts/rules/view-function.ts';
import { AMOUNT, hasFraction } from './amount.ts';

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

export const checked = (faultOf: FaultOf) =>
  z.string().check(({ value: input, issues }) => {
    const fault = faultOf(input);
    if (fault === undefined) return;
    const [code, detail] = fault;
    issues.push(describedBy({ input, code: 'custom' }, (pointer) => ({ pointer, code, detail })));
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
export const Ref = checked(faultOfRef).meta({
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

const faultOfWholeAmount: FaultOf = (text) =>
  hasFraction(text)
    ? ['fraction', 'must be a whole number, such as "3": the tokens cannot be divided']
    : faultOfAmount(text);

const TOKEN_ID_DETAIL = {
  grammar: 'must be ids and ranges separated by commas, without spaces, such as "1,2,42-69"',
  reversed: 'has a range that ends before it begins; write the smaller id first, such as "42-69"',
  'too-large': 'has an id of 2^256 or more; the largest id is 2^256 - 1',
  'too-many': `has more than ${TOKEN_IDS_MAX} ids after its ranges are expanded`,
} as const;
const faultOfTokenIds: FaultOf = (text) => {
  const ids = parseTokenIds(text);
  return ids.ok
    ? undefined
    : [ids.reason === 'grammar' ? 'malformed' : 'out-of-range', TOKEN_ID_DETAIL[ids.reason]];
};
const faultOfFunction: FaultOf = (text) => {
  const parsed = parseViewFunction(text);
  return parsed.ok ? undefined : ['function-unsupported', parsed.detail];
};

export const Label = checked(faultOfLabel).meta({ maxLength: LABEL_LENGTH_MAX });

export const Address = checked(faultOfAddress).meta({
  pattern: '^0x[0-9a-fA-F]{40}$',
  description: 'An address; mixed case must pass EIP-55. Not the zero address.',
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
});

export const Amount = checked(faultOfAmount).meta({
  pattern: AMOUNT.source,
  description: 'Whole tokens as decimal text.',
  example: '1500.5',
});

export const Factor = checked(faultOfAmount).meta({ pattern: AMOUNT.source });

/** Of tokens that cannot be divided. */
export const WholeAmount = checked(faultOfWholeAmount).meta({
  pattern: '^(0|[1-9][0-9]{0,77})$',
  description: 'Whole tokens as decimal text.',
  example: '3',
});

const ID = '(0|[1-9][0-9]{0,77})';
export const TokenId = checked(faultOfTokenIds).meta({
  pattern: `^${ID}(-${ID})?(,${ID}(-${ID})?)*$`,
  description: 'Ids and ranges without spaces; at most 256 ids after expansion.',
  example: '1,2,42-69',
});

export const FunctionText = checked(faultOfFunction).meta({
  description: 'One human-readable signature of a view or pure function, at most 512 characters.',
  example: 'function tierOf(address member, uint256 club) view returns (uint8 tier, bool active)',
});

export const RoleId = checked(faultOfRoleId).meta({
  minLength: 1,
  maxLength: ROLE_ID_LENGTH_MAX,
  description: 'Several rules may name one role: it is held if any of them is granted.',
});

export const CallbackUrl = checked(faultOfCallbackUrl).meta({
  maxLength: CALLBACK_URL_LENGTH_MAX,
});
