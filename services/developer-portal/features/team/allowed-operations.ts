import { isAllowed, permissionOf, type Role } from '../../domain/permissions.ts';
import { OPERATIONS, type OperationId } from '../../http/operations.ts';

/**
 * The operations on an app that a role may use, by id. The page shows the buttons and forms of
 * these only.
 *
 * @example
 * allowedOperations('viewer').includes('createKey'); // false
 */
export const allowedOperations = (role: Role): OperationId[] =>
  (Object.keys(OPERATIONS) as OperationId[]).filter((id) => {
    const permission = permissionOf(OPERATIONS[id]);
    return permission !== undefined && isAllowed(role, permission);
  });
