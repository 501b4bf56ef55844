/** The path of a client app; what is below it is about this app. */
export const APP = '/api/apps/:clientId';

/** What the operations of a kind have in common. */
export const READ = { method: 'get', access: 'session', status: 200, codes: [] } as const;
export const READ_OF_APP = { ...READ, codes: ['not-found'] } as const;
export const REMOVAL = { method: 'delete', access: 'session', status: 204, codes: ['not-found'] } as const;
export const OPERATOR_READ = { ...READ, access: 'operator' } as const;
