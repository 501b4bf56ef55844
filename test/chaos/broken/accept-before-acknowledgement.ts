// Broken on purpose: 202 is sent before the broker has acknowledged the check, which it may never do.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/services/gateway/publish-check.ts',
  'await deps.publish(',
  'void ((...all: Parameters<typeof deps.publish>) => deps.publish(...all).catch(() => undefined))(',
);
