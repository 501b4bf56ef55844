// Broken on purpose: a member's state is stored as sent before its event is sent, so a crash in between loses the event.
import { replaceSource } from '../preload/replace-source.ts';

replaceSource(
  '/services/watcher/publish-changes.ts',
  'if (member.event && watch) await publishEvent(watch, member.event);',
  `const { event } = member;
    if (event && watch) setTimeout(() => void publishEvent(watch, event).catch(() => undefined), 300);`,
);
