import { OnUndetermined, TokenRuleType } from '#shared/contracts/rule.ts';
import {
  type CheckBody,
  faultOfAddress,
  faultOfAmount,
  faultOfCallbackUrl,
  faultOfLabel,
  faultOfRoleId,
  type RuleBody,
} from './api.ts';

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

const soundness = <Body>(
  members: { readonly [Name in keyof Body]?: IsSound },
): ReadonlyMap<string, IsSound> =>
  new Map(Object.entries<IsSound | undefined>(members) as [string, IsSound][]);

const RULE_MEMBERS = soundness<RuleBody>({
  type: oneOf(TokenRuleType.options),
  chainId: isPositiveInteger,
  contractAddress: textWithout(faultOfAddress),
  roleId: textWithout(faultOfRoleId),
  minToken: textWithout(faultOfAmount),
  maxToken: textWithout(faultOfAmount),
  /** Its grammar is checked by `validateRule`. */
  tokenId: isString,
  name: textWithout(faultOfLabel),
  description: textWithout(faultOfLabel),
});

const BODY_MEMBERS = soundness<CheckBody>({
  account: textWithout(faultOfAddress),
  rules: (value) => Array.isArray(value) && value.length > 0 && value.every(isCommonRule),
  callbackUrl: textWithout(faultOfCallbackUrl),
  async: isBoolean,
  onUndetermined: oneOf(OnUndetermined.options),
});

const isCommonRule = (value: unknown): boolean => isPlain<RuleBody>(value, RULE_MEMBERS, REQUIRED_OF_RULE);
const REQUIRED_OF_RULE = ['type', 'chainId', 'roleId'] as const;
const REQUIRED_OF_BODY = ['account', 'rules'] as const;

function isPlain<Body>(
  value: unknown,
  members: ReadonlyMap<string, IsSound>,
  required: readonly (string & keyof Body)[],
): value is Body {
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
export const isCommonBody = (body: unknown): body is CheckBody =>
  isPlain<CheckBody>(body, BODY_MEMBERS, REQUIRED_OF_BODY);
