/**
 * API keys that were made since the page was loaded, so that they can be tried without pasting them. In memory
 * only: they are gone with the tab.
 */
const keys = new Map();

export const keepKey = (clientId, apiKey) => keys.set(clientId, apiKey);
export const keptKey = (clientId) => keys.get(clientId) ?? '';
export const forgetKeys = () => keys.clear();
