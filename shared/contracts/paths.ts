/** The paths of the gateway that other services and tests use too. */
export const CHECK_PATH = '/access-control/check-roles';
/** Followed by a request id. */
export const RESPONSES_PATH = `${CHECK_PATH}/responses/`;
export const RULE_SETS_PATH = '/access-control/rule-sets';
export const CHAINS_PATH = '/access-control/chains';
