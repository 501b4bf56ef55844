// Broken on purpose: 202 is sent while the broker has not acknowledged the check, and may never do so.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/services/gateway/publish-check.ts',
  'await deps.publish(',
  'void ((...all: Parameters<typeof deps.publish>) => deps.publish(...all).catch(() => undefined))(',
);
