import { z } from 'zod';
import { hasValidChecksum, isAddressText, ZERO_ADDRESS } from '#shared/contracts/address.ts';
import { BlockTag, OnUndetermined, TokenRuleType } from '#shared/contracts/rule.ts';
import { AMOUNT } from './domain/amount.ts';

/** The request body. It is strict: a typo must be an error and never a silent default. */

export const RULES_MAX = 100;
/** For asynchronous checks of the enterprise tier. */
export const RULES_MAX_ENTERPRISE = 1_000;
export const CALLBACK_URL_LENGTH_MAX = 2_048;
const ROLE_ID_LENGTH_MAX = 128;
const LABEL_LENGTH_MAX = 256;

const ENS_NAME = /^[^\s:/.]+(\.[^\s:/.]+)+$/;
/** chain-agnostic.org, CAIP-10. */
const CAIP10 = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}:[-.%a-zA-Z0-9]{1,128}$/;

/** The fault of a text as a code and a detail (a predicate); `undefined` if it has none. */
type FaultOf = (text: string) => readonly [code: string, detail: string] | undefined;

export const faultOfAddress: FaultOf = (text) => {
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
  schema.superRefine((text, context) => {
    const fault = faultOf(text);
    if (fault) context.addIssue({ code: 'custom', message: fault[1], params: { code: fault[0] } });
  });

/** Compares the length in code points; counts them only if the length in UTF-16 units does not decide. */
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

export const faultOfRoleId = faultOfText(1, ROLE_ID_LENGTH_MAX);
export const faultOfLabel = faultOfText(0, LABEL_LENGTH_MAX);
export const faultOfCallbackUrl = faultOfText(0, CALLBACK_URL_LENGTH_MAX);
export const faultOfAmount: FaultOf = (text) =>
  AMOUNT.test(text)
    ? undefined
    : [
        'malformed',
        'must be a decimal string such as "1500.5", of at most 78 digits before the point and 36 after it',
      ];

const Label = checked(z.string(), faultOfLabel).meta({ maxLength: LABEL_LENGTH_MAX });

const Address = checked(z.string(), faultOfAddress).meta({
  pattern: '^0x[0-9a-fA-F]{40}$',
  description: 'An address; mixed case must pass EIP-55. Not the zero address.',
  example: '0x52908400098527886E0F7030069857D2E4169EE7',
});

const Amount = checked(z.string(), faultOfAmount).meta({
  pattern: AMOUNT.source,
  description: 'Whole tokens as decimal text.',
  example: '1500.5',
});

const ChainId = z.number().int().positive();

/** For the OpenAPI document only: `validateRule` enforces these. */
const onlyFor = (type: string, then: object) => ({
  if: { properties: { type: { const: type } }, required: ['type'] },
  then,
});
const WHOLE_AMOUNT = { pattern: '^(0|[1-9][0-9]{0,77})$' };
const WHOLE_AMOUNTS = { minToken: WHOLE_AMOUNT, maxToken: WHOLE_AMOUNT };
const RULE_CONDITIONS = [
  onlyFor('NATIVE', { properties: { contractAddress: false, tokenId: false } }),
  onlyFor('ERC20', { properties: { tokenId: false }, required: ['contractAddress'] }),
  onlyFor('ERC721', { properties: WHOLE_AMOUNTS, required: ['contractAddress'] }),
  onlyFor('ERC1155', { properties: WHOLE_AMOUNTS, required: ['contractAddress', 'tokenId'] }),
];
const TOKEN_ID = '(0|[1-9][0-9]{0,77})';

export const RuleBody = z
  .strictObject({
    type: TokenRuleType,
    chainId: ChainId,
    contractAddress: Address.optional(),
    roleId: checked(z.string(), faultOfRoleId).meta({ minLength: 1, maxLength: ROLE_ID_LENGTH_MAX }),
    minToken: Amount.optional(),
    maxToken: Amount.optional(),
    /** Its grammar is checked by `validateRule`. */
    tokenId: z
      .string()
      .optional()
      .meta({
        pattern: `^${TOKEN_ID}(-${TOKEN_ID})?(,${TOKEN_ID}(-${TOKEN_ID})?)*$`,
        description: 'Ids and ranges without spaces; at most 256 ids after expansion.',
        example: '1,2,42-69',
      }),
    name: Label.optional(),
    description: Label.optional(),
  })
  .meta({ id: 'Rule', allOf: RULE_CONDITIONS });
export type RuleBody = z.infer<typeof RuleBody>;

export const ConsistencyBody = z.strictObject({
  blockTag: BlockTag.optional(),
  minBlock: z.record(z.string().regex(/^[1-9][0-9]{0,15}$/), z.number().int().nonnegative()).optional(),
});

/** The number of rules is checked before this schema sees them. */
export const CheckBody = z
  .strictObject({
    account: Address,
    rules: z.array(RuleBody).min(1).meta({ maxItems: RULES_MAX_ENTERPRISE }),
    callbackUrl: checked(z.string(), faultOfCallbackUrl)
      .meta({ maxLength: CALLBACK_URL_LENGTH_MAX })
      .optional(),
    async: z.boolean().optional(),
    onUndetermined: OnUndetermined.optional(),
    consistency: ConsistencyBody.optional(),
  })
  .meta({ id: 'CheckRequest' });
export type CheckBody = z.infer<typeof CheckBody>;
