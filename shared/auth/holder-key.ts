import type { TokenCaller } from './caller.ts';

/**
 * Returns the key under which a caller is counted, the same for each of its tokens: `user:<id>`, `app:<id>` for an app
 * itself, or `signing-key:<id>` for whoever has the signing key of that app. An app's signing key is in every visitor's
 * browser, so a stranger who has it uses up nothing of what the app itself may do.
 */
export const holderKey = (caller: TokenCaller): string => {
  if (caller.kind === 'app-itself') return `app:${caller.appId}`;
  return caller.kind === 'connection' && caller.by === 'app' ? `signing-key:${caller.appId}` : userKey(caller.userId);
};

export const userKey = (userId: string): string => `user:${userId}`;
