// biome-ignore-all lint/performance/noBarrelFile: the public surface of a package that is published by itself

export { foldRoles, type RoleOutcome } from '../contracts/checks/fold-roles.ts';
export type { ProofClaims } from '../contracts/checks/proof-claims.ts';
export type * from './api-types.ts';
export type { BatchLinesOptions, BatchOptions } from './batch.ts';
export type { Documents, PutOptions } from './documents.ts';
export type { Jwks } from './jwks.ts';
export { type RequireRoleOptions, requireRole } from './require-role.ts';
export { type AsyncCheck, Rolecall, type SyncCheck } from './rolecall.ts';
export { type ClientErrorCode, type ErrorCode, RolecallError } from './rolecall-error.ts';
export type { CallOptions, RolecallOptions } from './transport.ts';
export { type VerifyProofOptions, verifyProof } from './verify-proof.ts';
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookMessage,
} from './verify-webhook.ts';
export type { Watches } from './watches.ts';
