// biome-ignore-all lint/performance/noBarrelFile: the public surface of a package that is published by itself

export { foldRoles, type RoleOutcome } from '../contracts/checks/fold-roles.ts';
export type { ProofClaims } from '../contracts/checks/proof-claims.ts';
export type * from './api-types.ts';
export type { BatchLinesOptions, BatchOptions } from './batch.ts';
export type { Deliveries, ListDeliveriesOptions } from './deliveries.ts';
export type { Documents, PutOptions } from './documents.ts';
export { type ClientErrorCode, type ErrorCode, RolecallError } from './http/rolecall-error.ts';
export type { CallOptions, RolecallOptions } from './http/transport.ts';
export { type RequireRoleOptions, requireRole } from './require-role.ts';
export { type AsyncCheck, Rolecall, type SyncCheck } from './rolecall.ts';
export { type ParsedSignInMessage, parseSignInMessage } from './sign-in/parse-sign-in-message.ts';
export { type SignInMessageFields, signInMessage } from './sign-in/sign-in-message.ts';
export type { Jwks } from './verify/jwks.ts';
export { type VerifyProofOptions, verifyProof } from './verify/verify-proof.ts';
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookMessage,
} from './verify/verify-webhook.ts';
export type { Watches } from './watches.ts';
