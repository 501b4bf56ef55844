import type { z } from 'zod';
import { OnUndetermined } from '#shared/contracts/rules/rule.ts';
import { SIGN_INS_MAX } from '#shared/contracts/sign-in/sign-in-request.ts';
import {
  faultOfAddress,
  faultOfAmount,
  faultOfCallbackUrl,
  faultOfLabel,
  faultOfRef,
  faultOfRoleId,
} from '#shared/rules/body-texts.ts';
import type { RuleBody } from '#shared/rules/rule-body.ts';
import { ACCOUNTS_MAX, type CheckBody, type SignInBody, VAULTS_MAX } from './check-body.ts';

type IsSound = (value: unknown) => boolean;

const textWithout =
  (faultOf: (text: string) => unknown): IsSound =>
  (value) =>
    typeof value === 'string' && faultOf(value) === undefined;
const oneOf = (choices: readonly string[]): IsSound => {
  const set = new Set<unknown>(choices);
  return (value) => set.has(value);
};
const isString: IsSound = (value) => typeof value === 'string';
const isBoolean: IsSound = (value) => typeof value === 'boolean';
const isPositiveInteger: IsSound = (value) => Number.isSafeInteger(value) && (value as number) > 0;

/** The members that an object may have, and those that it must have. */
type Plain = { readonly members: ReadonlyMap<string, IsSound>; readonly required: readonly string[] };

const plain = <Body>(
  members: { readonly [Name in keyof Body]?: IsSound },
  required: readonly (string & keyof Body)[],
): Plain => ({
  members: new Map(Object.entries<IsSound | undefined>(members) as [string, IsSound][]),
  required,
});

type RuleOf<Type extends string> = Extract<RuleBody, { type: Type }>;

const isAddress = textWithout(faultOfAddress);

const NATIVE_MEMBERS = {
  type: isString,
  chainId: isPositiveInteger,
  roleId: textWithout(faultOfRoleId),
  minToken: textWithout(faultOfAmount),
  maxToken: textWithout(faultOfAmount),
  name: textWithout(faultOfLabel),
  description: textWithout(faultOfLabel),
};
const ERC20_MEMBERS = { ...NATIVE_MEMBERS, contractAddress: isAddress };
/** The grammar of ids is checked by `validateRule`. */
const NFT_MEMBERS = { ...ERC20_MEMBERS, tokenId: isString };

/** Rules about tokens alone: all others are left to the schema. */
const RULE_TYPES: ReadonlyMap<unknown, Plain> = new Map([
  ['ERC20', plain<RuleOf<'ERC20'>>(ERC20_MEMBERS, ['type', 'chainId', 'roleId', 'contractAddress'])],
  ['ERC721', plain<RuleOf<'ERC721'>>(NFT_MEMBERS, ['type', 'chainId', 'roleId', 'contractAddress'])],
  [
    'ERC1155',
    plain<RuleOf<'ERC1155'>>(NFT_MEMBERS, ['type', 'chainId', 'roleId', 'contractAddress', 'tokenId']),
  ],
  ['NATIVE', plain<RuleOf<'NATIVE'>>(NATIVE_MEMBERS, ['type', 'chainId', 'roleId'])],
]);

const isCommonRule: IsSound = (value) => {
  const type = (value as { readonly type?: unknown } | null | undefined)?.type;
  const ofType = RULE_TYPES.get(type);
  return ofType !== undefined && isPlain(value, ofType);
};

const listOf =
  (isSound: IsSound, min: number, max: number): IsSound =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.length <= max && value.every(isSound);

const SIGN_IN = plain<z.infer<typeof SignInBody>>({ message: isString, signature: isString }, [
  'message',
  'signature',
]);

const WALLETS = {
  account: isAddress,
  accounts: listOf(isAddress, 1, ACCOUNTS_MAX),
  vaults: listOf(isAddress, 0, VAULTS_MAX),
};
const ENTRY = plain<typeof WALLETS & { ref: string }>({ ...WALLETS, ref: textWithout(faultOfRef) }, []);

const BODY = plain<CheckBody>(
  {
    ...WALLETS,
    ruleSet: isString,
    rules: listOf(isCommonRule, 1, Infinity),
    callbackUrl: textWithout(faultOfCallbackUrl),
    async: isBoolean,
    explain: isBoolean,
    onUndetermined: oneOf(OnUndetermined.options),
    signIn: listOf((value) => isPlain(value, SIGN_IN), 1, SIGN_INS_MAX),
  },
  [],
);

function isPlain(value: unknown, { members, required }: Plain): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const name of required) if (!Object.hasOwn(value, name)) return false;
  for (const name of Object.keys(value)) {
    const isSound = members.get(name);
    if (!isSound?.((value as Readonly<Record<string, unknown>>)[name])) return false;
  }
  return true;
}

/**
 * Whether `CheckBody` surely accepts a body: common bodies skip the zod schema, which takes ten times as long. `false`
 * means nothing: the schema then decides, and finds the faults.
 *
 * @example
 * const parsed = isCommonBody(body) ? { success: true, data: body } : CheckBody.safeParse(body);
 */
export const isCommonBody = (body: unknown): body is CheckBody => isPlain(body, BODY);

/** The same for one entry of a batch. */
export const isCommonEntry = (value: unknown): boolean =>
  typeof value === 'string' ? isAddress(value) : isPlain(value, ENTRY);
