import type { ValidationRules } from '../../services/gateway/checks/validate-check.ts';

/** What a gateway with these chains validates bodies by: of an app that is no enterprise, without
 * callbacks into private networks. */
export const validationRules = (
  chainIds: readonly number[] = [1],
  over: Partial<ValidationRules> = {},
): ValidationRules => ({
  isEnterprise: false,
  chainIds: new Set(chainIds),
  callback: { allowHttp: false, allowedCidrs: [] },
  signsVerdicts: true,
  ...over,
});
