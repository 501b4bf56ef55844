/** The paths of the gateway that other services and tests use too. */
export const CHECK_PATH = '/access-control/check-roles';
/** Followed by a request id. */
export const RESPONSES_PATH = `${CHECK_PATH}/responses/`;
/** Of batches; followed by a request id, of one batch. */
export const BATCH_PATH = `${CHECK_PATH}/batch`;
export const RULE_SETS_PATH = '/access-control/rule-sets';
export const WATCHES_PATH = '/access-control/watches';
export const DELIVERIES_PATH = '/access-control/deliveries';
export const CHAINS_PATH = '/access-control/chains';
/** Of the OpenID AuthZEN Authorization API. */
export const EVALUATION_PATH = '/access/v1/evaluation';
export const EVALUATIONS_PATH = '/access/v1/evaluations';
export const METADATA_PATH = '/.well-known/authzen-configuration';
export const NONCES_PATH = '/access-control/nonces';
