// Broken on purpose: whoever waits is told, by webhook too, and the result is stored afterwards.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource('/services/webhook-dispatcher/handle-result.ts', ', record, savingOf(message))', ', record)');
