/**
 * The owner of a claim on a watch: a user within an app, or an app itself (`userId: null`). The signer of a connection
 * token has one id in both members: the user's for a user identified by a wallet, who is in no app; the app's for a
 * holder of an app's signing key, which may be in every visitor's browser and so is not the app itself.
 */
export interface Claimant {
  appId: string;
  userId: string | null;
}

/** Returns a claimant as text, `app_1` or `app_1/usr_1`. Stored in read models. */
export const claimantText = ({ appId, userId }: Claimant): string => (userId === null ? appId : `${appId}/${userId}`);

/** Returns the claims that a caller may have, as texts: the own one, and that of the app. Without a caller none. */
export const claimsOf = (caller: Claimant | undefined): string[] =>
  caller ? [...new Set([claimantText(caller), claimantText({ ...caller, userId: null })])] : [];

/** Returns the app in a claimant's text. */
export const appOfClaimant = (text: string): string => text.split('/', 1).join();
