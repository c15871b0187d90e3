import type { TokenCaller } from './caller.ts';

/**
 * Returns the key under which a caller's usage is counted, the same for each of its tokens: `user:<id>`, `app:<id>` for
 * an app itself, or `signing-key:<id>` for a holder of an app's signing key. That key is in every visitor's browser, so
 * a stranger with it must not use up the app's own quota.
 */
export const holderKey = (caller: TokenCaller): string => {
  if (caller.kind === 'app-itself') return `app:${caller.appId}`;
  return caller.kind === 'connection' && caller.by === 'app' ? `signing-key:${caller.appId}` : userKey(caller.userId);
};

export const userKey = (userId: string): string => `user:${userId}`;
