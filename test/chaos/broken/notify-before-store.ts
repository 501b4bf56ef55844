// Broken on purpose: waiters and webhooks are notified before the result is stored.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource('/services/webhook-dispatcher/handle-result.ts', ', record, savingOf(message))', ', record)');
